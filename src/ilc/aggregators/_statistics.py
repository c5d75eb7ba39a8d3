"""Sufficient statistics of environment gradients, from which most aggregators compute the update.

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
"""Sums that only some aggregators need: the attribute's name, and what is added for each gradient."""


@dataclass
class GradientStatistics:
    """Running sums over the environments for one parameter tensor.

    They need memory O(P) for every E. They can be filled one environment at a time or all at once, and they
    add up across processes. All sums are float32 or wider, also for parameters of half precision.

    Attributes:
        n_environments: how many environments have been added.
        total: the sum of the gradients, in the shape of the parameter.
        sign_sum: the sum of the gradients' signs, which are exact whole numbers. A component that is exactly
            0 casts no vote. NaN if the aggregator needs no votes.
        log_sum: the sum of log |gradient|, or None if the aggregator does not need it. One exact zero makes
            it minus infinity, so that the geometric mean is zero.
        square_sum: the sum of the squared gradients, or None if the aggregator does not need it.
        magnitude_sum: the sum of |gradient|, or None if the aggregator does not need it.
        kept_share: the kept share that a ``JointAggregator`` returned with its loss, or None.
    """

    n_environments: int
    total: Tensor
    sign_sum: Tensor
    log_sum: Tensor | None = None
    square_sum: Tensor | None = None
    magnitude_sum: Tensor | None = None
    kept_share: Tensor | None = None

    @classmethod
    def zeros(cls, like: Tensor, also: Sequence[str] = ()) -> GradientStatistics:
        """Statistics without any environment yet, for a parameter shaped like ``like``.

        Args:
            like: the parameter.
            also: names of ``ON_REQUEST``.
        """
        total = torch.zeros_like(like, dtype=wide_type(like.dtype), requires_grad=False)
        # Floating point, because converting the signs of every gradient would cost as much as adding them.
        sign_sum = torch.zeros_like(total)
        return cls(0, total, sign_sum, **{name: torch.zeros_like(total) for name in also})

    @classmethod
    def of_zeros(cls, n_environments: int, like: Tensor, also: Sequence[str] = ()) -> GradientStatistics:
        """Statistics of ``n_environments`` gradients that are zero: no votes, and a log sum of -infinity."""
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
        """The sums of ``ON_REQUEST`` that are computed here."""
        sums = {name: getattr(self, name) for name in ON_REQUEST}
        return {name: value for name, value in sums.items() if value is not None}

    def add_(self, gradients: Tensor) -> GradientStatistics:
        """Add the gradients ``[E, *shape]`` of E more environments, in place."""
        self.n_environments += gradients.shape[0]
        self.total += _sum(gradients, self.total.dtype)
        requested = self.requested
        # A few environments at a time, so that temporary results stay small and in the cache.
        for part in torch.split(gradients, 8):
            few = part.to(self.total.dtype)
            self.sign_sum += _sum(few.sign(), self.sign_sum.dtype)
            for name, running in requested.items():
                running.add_(_sum(ON_REQUEST[name](few), running.dtype))
        return self


def _sum(values: Tensor, dtype: torch.dtype) -> Tensor:
    """The sum over the first axis in that type; for one environment there is no copy."""
    return values[0] if len(values) == 1 else values.sum(0, dtype=dtype)
