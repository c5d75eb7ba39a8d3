"""The result of a way beside the expected one: which sums and votes differ by more than rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.aggregators import GradientStatistics
from ilc.verification._plain_loop import ExpectedRows, Row
from ilc.verification._possible_sums import Voters, sign_sums, wrong_sums_on_request
from ilc.verification._rounding import Rounding, floors, largest


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
        wrong_on_request: the names of the sums on request (``log_sum``, ``square_sum``, ``magnitude_sum``)
            that differ.
        clear: whether the parameter has a gradient that is larger than its rounding in an environment. If it
            has none, a wrong sum of that size would not show, so the table says that it was not compared.
        clear_votes: the number of components whose sum of signs is certain, and for which an environment
            votes. A zero sum without any vote, as of an unused parameter, says nothing about votes.
    """

    name: str
    components: int
    votes: int = 0
    wrong_votes: int = 0
    sum_error: float = 0.0
    wrong_sum: bool = False
    missing: bool = False
    wrong_on_request: tuple[str, ...] = ()
    clear: bool = False
    clear_votes: int = 0

    @property
    def right(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.wrong_sum or self.wrong_votes or self.wrong_on_request)


def compare(found: dict[str, GradientStatistics], wanted: ExpectedRows, allowed: Rounding) -> list[Compared]:
    """Compare every parameter's statistics with those of the plain loop."""
    votes = wanted.votes or []
    of_sums, of_votes = floors(wanted.sums, allowed), floors(votes, allowed)
    unsure_zeros = [allowed.makes_zeros or _is_saturated(row, wanted.rows, allowed) for row in votes]
    return [
        _one(
            name,
            found.get(name),
            [_wide(row.gradients[name]) for row in wanted.sums],
            [sizes[name] for sizes in of_sums],
            Voters(
                [_wide(row.gradients[name]) for row in votes],
                [sizes[name] for sizes in of_votes],
                unsure_zeros,
            ),
            allowed.own,
        )
        for name in wanted.rows[0].gradients
    ]


def _is_saturated(row: Row, rows: Sequence[Row], allowed: Rounding) -> bool:
    """Whether the loop rounds all gradients of a fitted environment to zero, but not its risk.

    For example, the gradient of a logistic loss of 4e-15 is zero as a sigmoid minus one and 4e-15 as a
    fraction of exponentials. Both are right, and only the second one votes.
    """
    most = max(abs(float(each.risk)) for each in rows)
    fitted = 0 < abs(float(row.risk)) <= allowed.of_risk * most
    return fitted and not any(bool(gradient.any()) for gradient in row.gradients.values())


def _one(
    name: str,
    found: GradientStatistics | None,
    rows: list[Tensor],
    sizes: list[float],
    voters: Voters,
    slack: float,
) -> Compared:
    n = rows[0].numel()
    if found is None:
        return Compared(name, n, missing=True)
    total = torch.stack(rows).sum(0)
    ours = _wide(found.total.to_dense() if found.total.is_sparse else found.total)
    same = torch.isclose(ours, total, rtol=0, atol=sum(sizes), equal_nan=True)
    if total.isnan().any():
        # The part of a kernel that meets only padding has the gradient zero, or zero times NaN.
        same |= ours.isnan() & (total == 0)
    largest_of_rows = [largest(row) for row in rows]
    off = (ours - total).abs()[~same].nan_to_num(torch.inf)
    error = float(off.max()) / (max(largest_of_rows) or 1.0) if off.numel() else 0.0
    known = wrong = clear_votes = 0
    if voters.can_vote and found.sign_sum.shape == total.shape:
        low, high = sign_sums(voters)
        known = int((low == high).sum())
        wrong = int(((found.sign_sum < low) | (found.sign_sum > high)).sum())
        clear_votes = int(((low == high) & voters.clear().any(0)).sum())
    return Compared(
        name,
        n,
        known,
        wrong,
        error,
        not bool(same.all()),
        wrong_on_request=wrong_sums_on_request(found, voters, slack),
        clear=any(own > size for own, size in zip(largest_of_rows, sizes, strict=True)),
        clear_votes=clear_votes,
    )


def _wide(gradient: Tensor) -> Tensor:
    return gradient.to(torch.promote_types(gradient.dtype, torch.float64))
