"""The result of a way beside the expected one: which sums and votes differ by more than rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ilc.aggregators import GradientStatistics
from ilc.verification._plain_loop import ExpectedRows, Row


@dataclass(frozen=True)
class Compared:
    """The comparison of one parameter.

    Attributes:
        name: the parameter's name; ``loss_fn.NAME`` for a parameter of the loss.
        components: the number of its components.
        votes: the number of components whose sum of signs is certain; 0 if the way keeps no votes.
        wrong_votes: the number of these components whose sum of signs differs.
        sum_error: the largest difference of the sums, relative to the largest component of any environment's
            gradient. It is infinite if only one of both is finite.
        wrong_sum: whether that is more than rounding.
        missing: whether the way gave no statistics for the parameter.
    """

    name: str
    components: int
    votes: int = 0
    wrong_votes: int = 0
    sum_error: float = 0.0
    wrong_sum: bool = False
    missing: bool = False

    @property
    def right(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.wrong_sum or self.wrong_votes)


class Rounding(NamedTuple):
    """How much rounding may change a component of a gradient. Every number is a fraction.

    Attributes:
        own: of the parameter's largest component in the same environment, and of a risk.
        of_all: of the largest component of all parameters.
        of_risk: of the environment's risk and of the largest component in any environment. It counts for
            gradients that are nothing but rounding.
        makes_zeros: whether rounding may give zero where another order of sums gives another number.
    """

    own: float
    of_all: float
    of_risk: float
    makes_zeros: bool


def rounding(dtype: torch.dtype) -> Rounding:
    """The rounding of a small model that computes in this type."""
    eps = torch.finfo(dtype).eps
    half = eps > 1e-4
    own = 0.2 if half else eps**0.5
    return Rounding(own, own / 30, 0.02 if half else 10 * eps, half)


def compare(found: dict[str, GradientStatistics], wanted: ExpectedRows, allowed: Rounding) -> list[Compared]:
    """Compare every parameter's statistics with those of the plain loop."""
    of_sums = floors(wanted.sums, allowed)
    of_votes = None if wanted.votes is None else floors(wanted.votes, allowed)
    votes = wanted.votes or ()
    unsure_zeros = [allowed.makes_zeros or _is_saturated(row, wanted.rows, allowed) for row in votes]
    return [
        _one(
            name,
            found.get(name),
            [row.gradients[name] for row in wanted.sums],
            sum(sizes[name] for sizes in of_sums),
            sign_sums(
                [_wide(row.gradients[name]) for row in votes],
                [sizes[name] for sizes in of_votes or ()],
                unsure_zeros,
            ),
        )
        for name in wanted.rows[0].gradients
    ]


def _is_saturated(row: Row, rows: Sequence[Row], allowed: Rounding) -> bool:
    """Whether the loop rounds all gradients of a fitted environment to zero, but not its risk.

    For example, the gradient of a logistic loss of 4e-15 is zero as a sigmoid minus one and 4e-15 as a
    fraction of exponentials. Both are right, and only the second one votes.
    """
    largest = max(abs(float(each.risk)) for each in rows)
    fitted = 0 < abs(float(row.risk)) <= allowed.of_risk * largest
    return fitted and not any(bool(gradient.any()) for gradient in row.gradients.values())


def _one(
    name: str,
    found: GradientStatistics | None,
    rows: list[Tensor],
    allowed: float,
    signs: tuple[Tensor, Tensor] | None,
) -> Compared:
    n = rows[0].numel()
    if found is None:
        return Compared(name, n, missing=True)
    total = torch.stack([_wide(row) for row in rows]).sum(0)
    ours = _wide(found.total.to_dense() if found.total.is_sparse else found.total)
    same = torch.isclose(ours, total, rtol=0, atol=allowed, equal_nan=True)
    if total.isnan().any():
        # The part of a kernel that meets only padding has the gradient zero, or zero times NaN.
        same |= ours.isnan() & (total == 0)
    size = max(map(_largest, rows), default=0.0)
    off = (ours - total).abs()[~same].nan_to_num(torch.inf)
    error = float(off.max()) / (size or 1.0) if off.numel() else 0.0
    known = wrong = 0
    if signs is not None and found.sign_sum.shape == total.shape:
        low, high = signs
        known = int((low == high).sum())
        wrong = int(((found.sign_sum < low) | (found.sign_sum > high)).sum())
    return Compared(name, n, known, wrong, error, not bool(same.all()))


def floors(rows: Sequence[Row], allowed: Rounding) -> list[dict[str, float]]:
    """For each environment, the size by name up to which a component may be nothing but rounding.

    If an environment is fitted, its gradient is a small difference of numbers of about one. Its rounding is
    as large as that of other environments. So the largest gradient of any environment counts too.
    """
    sizes = [{name: _largest(g) for name, g in row.gradients.items()} for row in rows]
    of_any = max((size for each in sizes for size in each.values()), default=0.0)
    found = []
    for row, each in zip(rows, sizes, strict=True):
        common = allowed.of_all * max(each.values(), default=0.0)
        common += allowed.of_risk * (abs(float(row.risk.nan_to_num(0, 0, 0))) + of_any)
        found.append({name: allowed.own * size + common for name, size in each.items()})
    return found


def _largest(gradient: Tensor) -> float:
    return float(gradient.abs().nan_to_num(0, 0, 0).max()) if gradient.numel() else 0.0


def sign_sums(
    rows: list[Tensor], sizes: list[float], unsure_zeros: Sequence[bool] = ()
) -> tuple[Tensor, Tensor] | None:
    """The smallest and the largest possible sum of signs under rounding; None if there are no votes.

    A sign is certain if the component is larger than rounding. A zero is certain if the environment has no
    gradient at all for the parameter. Any other zero may be a sum that cancels to the last digit. No zero is
    certain in an environment for which ``unsure_zeros`` is true.
    """
    if not rows or rows[0].is_complex():
        return None
    stacked = torch.stack(rows)
    size = torch.tensor(sizes, dtype=stacked.dtype, device=stacked.device)
    clear = (stacked.abs() > size.view(-1, *[1] * (stacked.ndim - 1))) & stacked.isfinite()
    without = (stacked == 0).reshape(len(rows), -1).all(1)
    if unsure_zeros:
        without &= ~torch.tensor(unsure_zeros, device=without.device)
    clear |= without.view(-1, *[1] * (stacked.ndim - 1))
    signs = (stacked.sign().nan_to_num(0) * clear).sum(0)
    # If a component is not finite, every sum is possible.
    unclear = (~clear).sum(0).where(stacked.isfinite().all(0), 2 * len(rows))
    return signs - unclear, signs + unclear


def _wide(gradient: Tensor) -> Tensor:
    return gradient.to(torch.promote_types(gradient.dtype, torch.float64))
