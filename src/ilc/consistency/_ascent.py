"""Consistency by search on the risks themselves: ascent inside the region that an environment accepts.

Every start leaves theta* along a ray and then climbs the other environment's risk without leaving the region.
A step is taken only if points along it also lie inside. So a path in the region joins every reached point to
theta*, and every gap that the search finds exists. The largest one is a lower bound on the inconsistency, up
to the spacing of the points that are checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from ilc._seeding import generator_for
from ilc.consistency._consistency import Consistency, check_arguments, worst_pair
from ilc.consistency._derivatives import Loss
from ilc.consistency._parts import Parts, Progress
from ilc.errors import UserError

_POINTS_PER_STEP = 8
_TINY = 1e-30  # so that a zero vector can be divided by its length


def search(
    losses: Sequence[Loss],
    theta_star: Tensor,
    epsilon: float,
    starts: int = 32,
    iterations: int = 200,
    radius: float = 1.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Consistency:
    """Projected ascent from many starts for every pair of environments; for small models.

    Args:
        losses: E risks that ``torch.func.vmap`` can follow.
        theta_star: ``[P]``.
        epsilon: tolerated increase of the risk.
        starts: the number of rays per pair. Half of them are random. The others go along the other risk's
            gradients and along single parameters, in both directions.
        iterations: the number of ascent steps per start. In an unbounded region the result grows with it.
        radius: the longest first step, in units of the parameters.
        seed: the seed of the random rays.
        progress: called with the number of finished parts and of all parts. A part is the way from theta* to
            the border of an environment's region, or the ascent of a pair of environments.

    Raises:
        UserError: as for ``consistency_score``; or a loss cannot be vectorized.
    """
    check_arguments(losses, theta_star, epsilon)
    if starts < 1 or iterations < 0 or not radius > 0:
        raise UserError(
            f"search needs starts >= 1, iterations >= 0 and radius > 0, got {starts}, {iterations}, {radius}"
        )
    theta_star = theta_star.detach()
    _check_vectorizable(losses, theta_star)
    rays = _rays(losses, theta_star, starts, generator_for(seed, "search"))
    n = len(losses)
    values = torch.zeros(n, n, dtype=torch.float64)
    best, step = -1.0, torch.zeros_like(theta_star)
    count = Parts(n, progress)
    for e in range(n):
        region = _Region(losses[e], theta_star, epsilon)
        entered = count.done(region.walk_along(theta_star, rays, radius))
        for other in range(n):
            reached = count.done(_climb(region, losses[other], entered, iterations, radius))
            gaps = (vmap(losses[other])(reached) - region.reference).abs()
            gap, where = float(gaps.max()), int(gaps.argmax())
            values[e, other] = gap
            if gap > best:
                best, step = gap, reached[where] - theta_star
    return Consistency(
        float(values.max()), worst_pair(values), step, values, "lower bound on the inconsistency"
    )


def _check_vectorizable(losses: Sequence[Loss], theta_star: Tensor) -> None:
    try:
        for loss in losses:
            vmap(grad_and_value(loss))(theta_star.unsqueeze(0))
    except RuntimeError as error:
        if "vmap" not in str(error) and "functorch" not in str(error):
            raise
        raise UserError(
            f"a loss cannot be vectorized over the starts ({str(error).splitlines()[0][:160]}): write it "
            "with tensor operations only, or use method='quadratic'"
        ) from error


class _Region:
    """The sub-level set of one environment's risk around theta*."""

    def __init__(self, loss: Loss, theta_star: Tensor, epsilon: float) -> None:
        self.reference = loss(theta_star).detach()
        self.level = self.reference + epsilon
        self.value = vmap(loss)
        self.gradient_and_value = vmap(grad_and_value(loss))

    def holds(self, points: Tensor, steps: Tensor) -> Tensor:
        """Whether the segments ``points + [0, 1] * steps`` (``[S, P]``) stay inside, ``[S]``."""
        shares = torch.linspace(0, 1, _POINTS_PER_STEP + 1, dtype=points.dtype)[1:]
        on_the_way = points + shares[:, None, None] * steps
        values: Tensor = self.value(on_the_way.flatten(0, 1))
        return (values.reshape(len(shares), -1) <= self.level).all(0)

    def walk_along(self, start: Tensor, rays: Tensor, length: float) -> Tensor:
        """Follow rays from ``start`` to just inside the border, at most ``length``."""
        reach = torch.full((len(rays), 1), length, dtype=start.dtype)
        for _ in range(60):
            inside = self.holds(start.expand_as(rays), reach * rays).unsqueeze(1)
            if bool(inside.all()):
                break
            reach = torch.where(inside, reach, 0.5 * reach)
        return self.extend(start.expand_as(rays).clone(), reach * rays)

    def extend(self, points: Tensor, steps: Tensor) -> Tensor:
        """Take the steps that stay inside, bisecting the others down to the border."""
        taken = torch.zeros(len(points), 1, dtype=points.dtype)
        share = torch.ones_like(taken)
        for _ in range(12):
            inside = self.holds(points, (taken + share) * steps).unsqueeze(1)
            taken = torch.where(inside & (taken < 1), taken + share, taken)
            share = 0.5 * share
        return points + taken * steps


def _climb(region: _Region, loss: Loss, points: Tensor, iterations: int, radius: float) -> Tensor:
    """Climb ``loss`` inside the region and, with a second copy of the points ``[S, P]``, descend it.

    At the border the direction loses its outward part. A Newton correction then brings the end of the step
    back to the border, which may be curved. Each start adapts its step length. A start has converged when its
    steps have become negligible.
    """
    value, slope_and_value = vmap(loss), vmap(grad_and_value(loss))
    sense = torch.ones(2 * len(points), 1, dtype=points.dtype)
    sense[len(points) :] = -1.0
    points = torch.cat([points, points])
    heights = value(points)
    length = torch.full((len(points), 1), 0.1 * radius, dtype=points.dtype)
    tolerance = region.level - region.reference
    for _ in range(iterations):
        slopes, _ = slope_and_value(points)
        uphill = _unit(sense * slopes)
        outward, levels = region.gradient_and_value(points)
        outward = _unit(outward)
        room = ((region.level - levels) / tolerance).clamp(0, 1).unsqueeze(1)
        push = (uphill * outward).sum(1, keepdim=True).clamp(min=0)
        steps = length * _unit(uphill - (1 - room) * push * outward)
        out, level = region.gradient_and_value(points + steps)
        over = (level - region.reference - 0.999 * tolerance).clamp(min=0).unsqueeze(1)
        steps = steps - over * out / out.square().sum(1, keepdim=True).clamp(min=_TINY)
        reached = value(points + steps)
        accepted = region.holds(points, steps) & (sense[:, 0] * (reached - heights) > 0)
        points = torch.where(accepted.unsqueeze(1), points + steps, points)
        heights = torch.where(accepted, reached, heights)
        length = torch.where(accepted.unsqueeze(1), 1.5 * length, 0.4 * length)
        if float(length.max()) < 1e-6 * radius:
            break
    slopes, _ = slope_and_value(points)
    return region.extend(points, 1e-2 * radius * _unit(sense * slopes))


def _rays(losses: Sequence[Loss], theta_star: Tensor, starts: int, generator: torch.Generator) -> Tensor:
    """Unit directions ``[starts, P]``: gradients and single parameters first, the rest random."""
    n_parameters = len(theta_star)
    given = [grad_and_value(loss)(theta_star)[0] for loss in losses]
    given += list(torch.eye(n_parameters, dtype=theta_star.dtype))
    both = [sign * ray for ray in given for sign in (1.0, -1.0) if float(ray.norm()) > 0]
    n_random = max(math.ceil(starts / 2), starts - len(both))
    drawn = torch.randn(n_random, n_parameters, generator=generator, dtype=theta_star.dtype)
    return _unit(torch.cat([torch.stack(both)[: starts - n_random], drawn]))


def _unit(vectors: Tensor) -> Tensor:
    units: Tensor = vectors / vectors.norm(dim=1, keepdim=True).clamp(min=_TINY)
    return units
