"""Sufficient statistics of environment gradients: all that an aggregator may look at.

Letters used everywhere: E environments, N examples per environment, P parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc._precision import wide_type

ON_REQUEST: dict[str, Callable[[Tensor], Tensor]] = {
    "log_sum": lambda gradients: gradients.abs().log_(),
    "square_sum": torch.square,
    "magnitude_sum": torch.abs,
}
"""Sums that only some aggregators ask for, by their attribute: what is added of each gradient."""


@dataclass
class GradientStatistics:
    """Running sums over the environments for one parameter tensor.

    They need memory O(P) whatever E is, can be filled one environment at a time or all at once,
    and add up across processes. All sums are float32 or wider, for parameters of half precision too.

    Attributes:
        n_environments: how many environments have been added.
        total: sum of the gradients, shape of the parameter.
        sign_sum: sum of the gradients' signs: whole numbers, held exactly. A
            component that is exactly 0 casts no vote. NaN when the aggregator needs no votes.
        log_sum: sum of log |gradient|, or None when the aggregator does not ask for it. One exact
            zero makes it minus infinity, hence the geometric mean zero.
        square_sum: sum of the squared gradients, or None likewise.
        magnitude_sum: sum of |gradient|, or None likewise.
    """

    n_environments: int
    total: Tensor
    sign_sum: Tensor
    log_sum: Tensor | None = None
    square_sum: Tensor | None = None
    magnitude_sum: Tensor | None = None

    @classmethod
    def zeros(cls, like: Tensor, also: Sequence[str] = ()) -> GradientStatistics:
        """Statistics of no environments yet, for a parameter shaped like ``like``.

        Args:
            like: the parameter.
            also: names of ``ON_REQUEST``.
        """
        total = torch.zeros_like(like, dtype=wide_type(like.dtype), requires_grad=False)
        # Floating point, because converting every gradient's signs would cost as much as adding them.
        sign_sum = torch.zeros_like(total)
        return cls(0, total, sign_sum, **{name: torch.zeros_like(total) for name in also})

    @classmethod
    def of_zeros(cls, n_environments: int, like: Tensor, also: Sequence[str] = ()) -> GradientStatistics:
        """Statistics of so many gradients that are zero: no vote, and a sum of logs of minus infinity."""
        found = cls.zeros(like, also)
        found.n_environments = n_environments
        if found.log_sum is not None:
            found.log_sum.fill_(-torch.inf)
        return found

    @classmethod
    def without_votes(cls, n_environments: int, total: Tensor) -> GradientStatistics:
        """Statistics for an aggregator that needs only the sum of the gradients."""
        return cls(n_environments, total, total.new_full((), torch.nan))

    @property
    def requested(self) -> dict[str, Tensor]:
        """Those sums of ``ON_REQUEST`` that are gathered."""
        sums = {name: getattr(self, name) for name in ON_REQUEST}
        return {name: value for name, value in sums.items() if value is not None}

    def add_(self, gradients: Tensor) -> GradientStatistics:
        """Add the gradients ``[E, *shape]`` of E more environments, in place."""
        self.n_environments += gradients.shape[0]
        self.total += _sum(gradients, self.total.dtype)
        requested = self.requested
        # A few environments at a time, so that the temporaries stay small and in the cache.
        for part in torch.split(gradients, 8):
            few = part.to(self.total.dtype)
            self.sign_sum += _sum(few.sign(), self.sign_sum.dtype)
            for name, running in requested.items():
                running.add_(_sum(ON_REQUEST[name](few), running.dtype))
        return self


def _sum(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Sum over the first axis in that type, without a copy where there is but one environment."""
    return values[0] if len(values) == 1 else values.sum(0, dtype=dtype)
