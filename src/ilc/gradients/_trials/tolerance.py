"""How far two sums of gradients may differ before a way counts as wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.aggregators import ON_REQUEST, GradientStatistics
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_parameters import nudged_parameters

COMPARED_SUMS = ("square_sum", "magnitude_sum")
"""Sums that are compared besides the total. They show which gradient belongs to which environment."""

_COLUMNS = 2**16
"""Components that are compared at once, so that copies in double precision stay small."""


class Tolerance(NamedTuple):
    """How far two sums may differ, relative to the parameter's gradients and to all gradients."""

    of_the_parameter: float
    of_all: float

    @classmethod
    def of(cls, tensors: Sequence[Values]) -> Tolerance:
        """Choose it above the rounding of the narrowest type, and below another environment's gradient."""
        eps = max(torch.finfo(t.dtype).eps for t in tensors if t.is_floating_point())
        if eps > 1e-4 or any(t.is_cuda for t in tensors):
            return cls(0.05, 1e-3)
        # Double precision shows even small effects, such as those behind a normalisation over two features.
        return cls(1e-3, 1e-5) if eps > 1e-10 else cls(1e-6, 1e-10)

    @classmethod
    def of_pass(cls, tensors: Sequence[Tensor | Values]) -> Tolerance:
        """Choose it for a pass of these inputs and parameters, which autocast may narrow."""
        mixed = any(torch.is_autocast_enabled(t.device.type) for t in tensors)
        return cls.of([*tensors, *([torch.empty(0, dtype=torch.bfloat16)] if mixed else [])])


def first_difference(
    found: dict[str, GradientStatistics], rows: dict[str, Tensor], tolerance: Tolerance
) -> str | None:
    """The first parameter whose sums or votes differ from those of the rows; None if there is none."""
    return next(differences(found, rows, tolerance), None)


def differences(
    found: dict[str, GradientStatistics], rows: dict[str, Tensor], tolerance: Tolerance
) -> Iterator[str]:
    """All parameters whose sums or votes differ from those of the rows."""
    sizes = {name: float(torch.linalg.vector_norm(row, dtype=torch.float64)) for name, row in rows.items()}
    of_all = max(sum(size**2 for size in sizes.values()) ** 0.5, 1e-300)
    for name, row in rows.items():
        if _differs(found[name], row, sizes[name], of_all, tolerance):
            yield name


def _differs(ours: GradientStatistics, row: Tensor, size: float, of_all: float, tolerance: Tolerance) -> bool:
    allowed = tolerance.of_the_parameter * size + tolerance.of_all * of_all
    largest = largest_value(row)
    limits = {"total": allowed, "magnitude_sum": allowed, "square_sum": 2 * allowed * largest + 1e-300}
    compared = {which: value.detach() for which in limits if (value := getattr(ours, which)) is not None}
    squares = dict.fromkeys(compared, 0.0)
    # The gradient of a key's bias in attention is zero but for rounding, and then it has no reliable sign.
    rounding = max(tolerance.of_the_parameter * largest, tolerance.of_all * of_all)
    votes_counted = not bool(ours.sign_sum.isnan().any())
    flat = row.reshape(len(row), -1)
    for first in range(0, flat.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        exact = flat[:, columns].double()
        for which, value in compared.items():
            terms = ON_REQUEST[which](exact) if which in ON_REQUEST else exact
            difference = value.reshape(-1)[columns].double() - terms.sum(0)
            squares[which] += float(difference.square().sum())
        if votes_counted:
            clear = (exact.abs() > rounding).all(0)
            votes = ours.sign_sum.reshape(-1)[columns][clear].double()
            if not torch.equal(votes, exact.sign().sum(0)[clear]):
                return True
    # The condition is negated so that NaN counts as a difference.
    return any(not square**0.5 <= limits[which] for which, square in squares.items())


def unequal(found: Sequence[Tensor], gradients: Sequence[Tensor], tolerance: Tolerance) -> list[int]:
    """The indices of the gradients from which what was found differs; NaN counts as a difference."""
    norms = [gradient.double().norm() for gradient in gradients]
    of_all = torch.stack(norms).norm()
    return [
        i
        for i, (ours, gradient, norm) in enumerate(zip(found, gradients, norms, strict=True))
        if not (ours.double() - gradient).norm()
        <= tolerance.of_the_parameter * norm + tolerance.of_all * of_all
    ]


def largest_value(values: Tensor) -> float:
    """The largest absolute value, without a copy of the tensor; 0 if it is empty."""
    return float(torch.linalg.vector_norm(values, torch.inf)) if values.numel() else 0.0


def nudge_shows(
    model: nn.Module,
    again: Callable[[], dict[str, Tensor]],
    rows: dict[str, Tensor],
    tolerance: Tolerance,
    seed: int,
) -> bool:
    """Whether rows ``[E, ...]`` made ``again`` differ once the last digits of the parameters have changed.

    A difference from these rows then shows nothing.
    """
    with nudged_parameters(model, seed):
        nudged = again()
    found = {name: GradientStatistics.zeros(row[0], COMPARED_SUMS).add_(row) for name, row in nudged.items()}
    return first_difference(found, rows, tolerance) is not None
