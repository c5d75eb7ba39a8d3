"""The oracle that faster ways are held against: one environment after another, by plain autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import as_objective, trainable_parameters
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._trials.trial_parameters import nudged_parameters
from ilc.gradients._trials.trial_passes import Trial, buffers_untouched, copied
from ilc.objectives import ObjectiveFunction

ALSO = ("square_sum", "magnitude_sum")
"""Sums that say which gradient is whose: with the total they leave two environments no choice."""


class Rows(NamedTuple):
    """What a plain loop finds for some environments.

    Attributes:
        inputs: ``[E', N, ...]``, of those environments, of which no gradient is NaN or infinite.
        targets: ``[E', N, ...]``.
        risks: ``[E']``.
        gradients: ``[E', ...]`` for each trainable parameter.
    """

    inputs: Tensor
    targets: Tensor
    risks: Tensor
    gradients: dict[str, Tensor]


def rows_of_a_few(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, passes: Trial
) -> Rows | None:
    """Two environments, or three where there are but two: another number than the step has.

    So an axis that has the length of all examples in the step has another one here. None if too few have
    finite gradients.

    Raises:
        UserError: as ``check_graph``.
    """
    n = len(inputs)
    found: list[tuple[Tensor, Tensor, Tensor, list[Tensor]]] = []
    for e in range(n):
        (x,), (y,) = copied(inputs, [e]), copied(targets, [e])
        _add_if_finite(found, model, loss_fn, x, y, passes)
        if len(found) == 2:
            break
    if not found:
        return None
    if len(found) == n:  # One more, of halves of the first and the last.
        half = inputs.shape[1] // 2
        x, y = (torch.cat([pair[0, :half], pair[-1, half:]]).detach() for pair in (inputs, targets))
        _add_if_finite(found, model, loss_fn, x, y, passes)
    if len(found) < 2 or len(found) == n:
        return None
    xs, ys, risks, rows = zip(*found, strict=True)
    names = trainable_parameters(model)
    stacked = {name: torch.stack(one) for name, one in zip(names, zip(*rows, strict=True), strict=True)}
    return Rows(torch.stack(xs), torch.stack(ys), torch.stack(risks), stacked)


def _add_if_finite(
    found: list[tuple[Tensor, Tensor, Tensor, list[Tensor]]],
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    x: Tensor,
    y: Tensor,
    passes: Trial,
) -> None:
    risk, gradients = row_of(model, loss_fn, x.clone(), y.clone(), passes)
    if all(bool(gradient.isfinite().all()) for gradient in (risk, *gradients)):
        found.append((x, y, risk, gradients))


def row_of(
    model: nn.Module, loss_fn: ObjectiveFunction, x: Tensor, y: Tensor, passes: Trial, seed: int = 0
) -> tuple[Tensor, list[Tensor]]:
    """Risk and gradients of one environment, from buffers, memory and random numbers as they were."""
    parameters = list(trainable_parameters(model).values())
    passes.start(seed)
    with buffers_untouched(model):
        objective = as_objective(loss_fn(model(x), y))
        check_graph(objective.loss, model)
        gradients = torch.autograd.grad(objective.loss, parameters, allow_unused=True, materialize_grads=True)
    return objective.risk.detach(), [gradient.detach() for gradient in gradients]


def rounding_decides(model: nn.Module, loss_fn: ObjectiveFunction, rows: Rows, passes: Trial) -> bool:
    """Whether the plain loop itself gives other sums or votes once parameters move by their last digits.

    So it is where examples are fitted to the last digit, or weights have grown without bound. A difference
    between two ways then says nothing.
    """
    tolerance = Tolerance.of([*trainable_parameters(model).values(), rows.inputs])
    for seed in range(_NUDGES):
        with nudged_parameters(model, seed):
            again = [
                row_of(model, loss_fn, x.clone(), y.clone(), passes)[1]
                for x, y in zip(rows.inputs, rows.targets, strict=True)
            ]
        nudged = dict(zip(rows.gradients, map(torch.stack, zip(*again, strict=True)), strict=True))
        if first_difference(as_statistics(nudged), rows.gradients, tolerance) is not None:
            return True
    return False


def as_statistics(rows: dict[str, Tensor]) -> dict[str, GradientStatistics]:
    """The sums and votes of rows ``[E, ...]``."""
    return {name: GradientStatistics.zeros(row[0], ALSO).add_(row) for name, row in rows.items()}


_NUDGES = 3


class Tolerance(NamedTuple):
    """How far two sums may differ, relative to the parameter's gradients and to all."""

    of_the_parameter: float
    of_all: float

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> Tolerance:
        """Rounding, of the narrowest type at hand, against a gradient that is another environment's."""
        eps = max(torch.finfo(t.dtype).eps for t in tensors if t.is_floating_point())
        if eps > 1e-4 or any(t.is_cuda for t in tensors):
            return cls(0.05, 1e-3)
        # In double precision even what hardly moves anything is seen, as behind a norm over two features.
        return cls(1e-3, 1e-5) if eps > 1e-10 else cls(1e-6, 1e-10)


def first_difference(
    found: dict[str, GradientStatistics], rows: dict[str, Tensor], tolerance: Tolerance
) -> str | None:
    """The first parameter whose sums or votes are not those of the rows; None if all are."""
    sizes = {name: float(row.double().norm()) for name, row in rows.items()}
    of_all = max(sum(size**2 for size in sizes.values()) ** 0.5, 1e-300)
    for name, narrow in rows.items():
        ours, row = found[name], narrow.double()
        allowed = tolerance.of_the_parameter * sizes[name] + tolerance.of_all * of_all
        expected = {"total": row.sum(0), "magnitude_sum": row.abs().sum(0)}
        for which, theirs in expected.items():
            value = getattr(ours, which)
            # As a NaN is not close to anything, what is close is asked for.
            if value is not None and not (value.double() - theirs).norm() <= allowed:
                return name
        if ours.square_sum is not None:
            difference = (ours.square_sum.double() - row.square().sum(0)).norm()
            if not difference <= 2 * allowed * float(row.abs().max()) + 1e-300:
                return name
        if not ours.sign_sum.isnan().any():  # Else nobody voted.
            clear = (row.abs() > tolerance.of_the_parameter * row.abs().max()).all(0)
            if not torch.equal(ours.sign_sum[clear].double(), row.sign().sum(0)[clear]):
                return name
    return None
