"""Consistency from the second-order expansion of every environment's risk, with every maximum solved exactly.

Deviation: the paper leaves the size of the small diagonal open (footnote 8). Here it is a share of the
largest curvature, and negative curvature counts as zero. So a saddle or a maximum would get the best
possible score. It is refused if every gradient is zero. Otherwise the result says how much negative curvature
was left out (``negative_curvature``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ilc._seeding import generator_for
from ilc.consistency._consistency import (
    Consistency,
    check_arguments,
    check_minimum,
    share_of_negative,
    worst_pair,
)
from ilc.consistency._damping import DAMPING, FEW_PARAMETERS, default_damping
from ilc.consistency._derivatives import LocalRisk, Loss
from ilc.consistency._expansion import Expansion, Gap, largest_gap, positive_part
from ilc.consistency._large import LowRankExpansion, SharedSpans, expand
from ilc.consistency._missed_curvature import missed_curvature
from ilc.consistency._parts import Parts, Progress
from ilc.errors import UserError


def quadratic(
    losses: Sequence[Loss],
    theta_star: Tensor,
    epsilon: float,
    damping: float | None = None,
    progress: Progress | None = None,
) -> Consistency:
    """Expand every risk to second order and solve every maximum exactly, for up to about 1,000 parameters.

    Args:
        losses: E risks.
        theta_star: ``[P]``.
        epsilon: tolerated increase of the risk.
        damping: the small positive diagonal of the paper's footnote 8, as a share of the largest curvature of
            any environment. None is 0.1, and just above rounding for at most 60 parameters, the same as for
            ``hessian_vector``. Negative curvature counts as zero. If an environment is flat, this diagonal
            limits the length of a step. So for a network with more parameters than examples the score depends
            on it: compare scores at equal damping.
        progress: called with the number of finished parts and of all parts. A part is the expansion of an
            environment, or a pair of environments.

    Raises:
        UserError: as for ``consistency_score``; or a saddle or a maximum where no risk has a slope.
    """
    check_arguments(losses, theta_star, epsilon)
    if damping is None:
        damping = default_damping(len(theta_star), theta_star.dtype)
    count = Parts(len(losses), progress)
    local = [LocalRisk(loss, theta_star) for loss in losses]
    complete = [count.done(risk.hessian()) for risk in local]
    lowest = min(float(torch.linalg.eigvalsh(h)[0]) for h in complete)
    hessians = [positive_part(hessian) for hessian in complete]
    largest = max(float(torch.linalg.eigvalsh(h)[-1]) for h in hessians)
    negative = _negative([risk.gradient for risk in local], lowest, largest, damping)
    diagonal = _diagonal(damping, largest) * torch.eye(len(theta_star), dtype=torch.float64)
    expansions = [
        Expansion(risk.risk, risk.gradient.double(), hessian + diagonal)
        for risk, hessian in zip(local, hessians, strict=True)
    ]
    n = len(losses)
    gaps = [
        [count.done(largest_gap(expansions[e], expansions[other], epsilon)) for other in range(n)]
        for e in range(n)
    ]
    values = torch.tensor([[gap.value for gap in row] for row in gaps], dtype=torch.float64)
    pair = worst_pair(values)
    step = gaps[pair[0]][pair[1]].step
    return Consistency(float(values[pair]), pair, step, values, "second order", negative)


def hessian_vector(
    losses: Sequence[Loss],
    theta_star: Tensor,
    epsilon: float,
    damping: float | None = None,
    lanczos_steps: int = FEW_PARAMETERS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Consistency:
    """Approximate ``quadratic`` with Hessian-vector products, in memory O(E * lanczos_steps * P).

    The result is that of ``quadratic`` if the products find all curvature that is not small beside the
    damping. They do for networks with a few large curvatures, but not for risks with many nearly equal ones.
    One more product with the Hessian of each of the two deciding environments measures what was missed
    (``missed_curvature``).

    Args:
        losses: E risks.
        theta_star: ``[P]``.
        epsilon: tolerated increase of the risk.
        damping: as for ``quadratic``, with the same default. A smaller diagonal needs more steps, because
            all curvature above it has to be resolved. With 60 steps the error was 0.3 % at 1e-2 and 3 % at
            1e-3 on a trained perceptron of 202 parameters, and on one of 301 parameters 1.2 % at 0.1, 21 % at
            1e-2 and a factor of 4.6 at 1e-3.
        lanczos_steps: the number of products per environment.
        seed: the seed of the random starts.
        progress: as for ``quadratic``.

    Raises:
        UserError: as for ``quadratic``; ``lanczos_steps`` is below 1; or ``damping`` is None, and there are
            at most 60 parameters but more of them than ``lanczos_steps``.
    """
    check_arguments(losses, theta_star, epsilon)
    if lanczos_steps < 1:
        raise UserError(f"lanczos_steps must be at least 1, got {lanczos_steps}")
    if damping is None:
        damping = default_damping(len(theta_star), theta_star.dtype)
        if damping < DAMPING and lanczos_steps < len(theta_star):
            raise UserError(
                f"lanczos_steps={lanczos_steps} finds a part of the curvature of {len(theta_star)} "
                "parameters, and the default damping needs all of it: leave lanczos_steps out, or give "
                "damping=0.1"
            )
    count = Parts(len(losses), progress)
    generator = generator_for(seed, "lanczos")
    expansions = [count.done(expand(loss, theta_star, lanczos_steps, generator)) for loss in losses]
    found = score_expansions(expansions, epsilon, damping, count)
    if lanczos_steps >= len(theta_star):  # That many steps find all curvature.
        return found
    missed = missed_curvature(found, expansions, losses, theta_star, epsilon)
    return replace(found, missed_curvature=missed)


def score_expansions(
    expansions: Sequence[LowRankExpansion], epsilon: float, damping: float, count: Parts | None = None
) -> Consistency:
    """Score all pairs of expansions for one epsilon and damping: the second part of ``hessian_vector``."""
    largest = max(float(e.curvatures.max()) if len(e.curvatures) else 0.0 for e in expansions)
    lowest = min(e.lowest for e in expansions)
    negative = _negative([e.gradient for e in expansions], lowest, largest, damping)
    spans = SharedSpans(expansions, _diagonal(damping, largest))
    n = len(expansions)
    values = torch.zeros(n, n, dtype=torch.float64)
    best = Gap(-1.0, torch.zeros_like(expansions[0].gradient))
    count = count or Parts(n, None)
    for e in range(n):
        for other in range(n):
            home, away, whiten = spans.pair(e, other)
            gap = count.done(largest_gap(home, away, epsilon))
            values[e, other] = gap.value
            if gap.value > best.value:
                best = Gap(gap.value, spans.step(e, other, gap.step, whiten))
    return Consistency(float(values.max()), worst_pair(values), best.step, values, "second order", negative)


def _negative(gradients: Sequence[Tensor], lowest: float, largest: float, damping: float) -> float:
    """The share of negative curvature. Where no risk has a slope, only a minimum has a score."""
    share = share_of_negative(lowest, largest)
    dtype = gradients[0].dtype
    slope = max(float(gradient.norm()) for gradient in gradients)
    if slope <= torch.finfo(dtype).eps ** 0.5 * max(-lowest, largest):
        check_minimum(share, damping, dtype)
    return share


def _diagonal(damping: float, largest: float) -> float:
    if not 0 < damping < float("inf"):
        raise UserError(
            f"damping must be a finite number above 0, got {damping!r}: without it a flat environment "
            "would allow steps of any length and the consistency would be minus infinity"
        )
    # Risks without any curvature still need a bounded region.
    return damping * (largest if largest > 0 else 1.0)
