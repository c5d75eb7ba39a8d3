"""How far two sums of gradients may differ before a way counts as wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.trial_parameters import nudged_parameters

COMPARED_SUMS = ("square_sum", "magnitude_sum")
"""Sums that are compared besides the total. They show which gradient belongs to which environment."""


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
    sizes = {name: float(row.double().norm()) for name, row in rows.items()}
    of_all = max(sum(size**2 for size in sizes.values()) ** 0.5, 1e-300)
    for name, narrow in rows.items():
        if _differs(found[name], narrow.double(), sizes[name], of_all, tolerance):
            yield name


def _differs(ours: GradientStatistics, row: Tensor, size: float, of_all: float, tolerance: Tolerance) -> bool:
    allowed = tolerance.of_the_parameter * size + tolerance.of_all * of_all
    expected = {"total": row.sum(0), "magnitude_sum": row.abs().sum(0)}
    for which, theirs in expected.items():
        value = getattr(ours, which)
        # The condition is negated so that NaN counts as a difference.
        if value is not None and not (value.double() - theirs).norm() <= allowed:
            return True
    if ours.square_sum is not None:
        difference = (ours.square_sum.double() - row.square().sum(0)).norm()
        if not difference <= 2 * allowed * float(row.abs().max()) + 1e-300:
            return True
    if ours.sign_sum.isnan().any():  # NaN means that no votes were counted.
        return False
    # The gradient of a key's bias in attention is zero but for rounding, and then it has no reliable sign.
    rounding = max(tolerance.of_the_parameter * float(row.abs().max()), tolerance.of_all * of_all)
    clear = (row.abs() > rounding).all(0)
    return not torch.equal(ours.sign_sum[clear].double(), row.sign().sum(0)[clear])


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
