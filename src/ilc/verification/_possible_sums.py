"""The smallest and the largest sums over environments that rounding allows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ilc.aggregators import ON_REQUEST, GradientStatistics


class Voters(NamedTuple):
    """The gradients of one parameter from which votes and sums on request come.

    Attributes:
        rows: one for each environment, in double precision; none if a plain loop cannot define the votes.
        floors: for each environment, the size up to which a component may be rounding.
        unsure_zeros: for each environment, whether rounding may make all its zeros; empty if none does.
    """

    rows: list[Tensor]
    floors: list[float]
    unsure_zeros: list[bool]

    @property
    def can_vote(self) -> bool:
        """Whether there are gradients, and they have signs."""
        return bool(self.rows) and not self.rows[0].is_complex()

    def clear(self) -> Tensor:
        """Where a component is larger than rounding, so that its sign is sure, ``[E, ...]``."""
        stacked = torch.stack(self.rows)
        return (stacked.abs() > self._by_environment(self.floors, stacked)) & stacked.isfinite()

    def without_gradient(self) -> Tensor:
        """Which environments have no gradient at all for the parameter, for certain, ``[E, 1, ...]``.

        Any other zero may be a sum that cancels to the last digit.
        """
        stacked = torch.stack(self.rows)
        none = (stacked == 0).reshape(len(stacked), -1).all(1)
        if self.unsure_zeros:
            none &= ~torch.tensor(self.unsure_zeros, device=none.device)
        return none.view(-1, *[1] * (stacked.ndim - 1))

    def sizes(self) -> tuple[Tensor, Tensor]:
        """The smallest and the largest possible size of every component, ``[E, ...]``."""
        stacked = torch.stack(self.rows)
        floor = self._by_environment(self.floors, stacked).where(~self.without_gradient(), 0.0)
        return (stacked.abs() - floor).clamp(min=0), stacked.abs() + floor

    def _by_environment(self, values: list[float], like: Tensor) -> Tensor:
        found = torch.tensor(values, dtype=like.dtype, device=like.device)
        return found.view(-1, *[1] * (like.ndim - 1))


def sign_sums(voters: Voters) -> tuple[Tensor, Tensor]:
    """The smallest and the largest possible sum of signs.

    A sign is certain if the component is larger than rounding. A zero is certain if the environment has no
    gradient at all for the parameter.
    """
    stacked = torch.stack(voters.rows)
    certain = voters.clear() | voters.without_gradient()
    signs = (stacked.sign().nan_to_num(0) * certain).sum(0)
    # If a component is not finite, every sum is possible.
    unclear = (~certain).sum(0).where(stacked.isfinite().all(0), 2 * len(stacked))
    return signs - unclear, signs + unclear


def wrong_sums_on_request(found: GradientStatistics, voters: Voters, slack: float) -> tuple[str, ...]:
    """The names of the sums on request that no rounding explains.

    Args:
        found: the statistics of a way.
        voters: the gradients of the plain loop.
        slack: the share of the summed sizes by which the addition itself may be off.
    """
    if not voters.can_vote:
        return ()
    smallest, largest = voters.sizes()
    finite = torch.stack(voters.rows).isfinite().all(0)
    wrong = []
    for name, value in found.requested.items():
        ours = (value.to_dense() if value.is_sparse else value).to(smallest.dtype)
        # What these sums add grows with the size of a component.
        low, high = ON_REQUEST[name](smallest), ON_REQUEST[name](largest)
        spare = slack * torch.maximum(_finite_size(low), _finite_size(high)).sum(0)
        outside = (ours < low.sum(0) - spare) | (ours > high.sum(0) + spare)
        # Beside a gradient that is NaN, a zero may be zero times NaN.
        nowhere = ours.isnan() if bool(finite.all()) else torch.zeros_like(finite)
        if bool(((outside & finite) | nowhere).any()):
            wrong.append(name)
    return tuple(wrong)


def _finite_size(terms: Tensor) -> Tensor:
    return terms.abs().where(terms.isfinite(), 0.0)
