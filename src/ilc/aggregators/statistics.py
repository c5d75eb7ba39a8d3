"""Sufficient statistics of environment gradients: all that an aggregator may look at.

Letters used everywhere: E environments, N examples per environment, P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class GradientStatistics:
    """Running sums over the environments for one parameter tensor.

    They need memory O(P) whatever E is, can be filled one environment at a time or all at once,
    and add up across processes.

    Attributes:
        n_environments: how many environments have been added.
        total: sum of the gradients, shape of the parameter.
        sign_sum: sum of the gradients' signs: whole numbers, held exactly in float32 or wider. A
            component that is exactly 0 casts no vote. NaN when the aggregator needs no votes.
        log_sum: sum of log |gradient|, or None when the aggregator does not ask for it. One exact
            zero makes it minus infinity, hence the geometric mean zero.
    """

    n_environments: int
    total: Tensor
    sign_sum: Tensor
    log_sum: Tensor | None = None

    @classmethod
    def zeros(cls, like: Tensor, with_logs: bool = False) -> GradientStatistics:
        """Statistics of no environments yet, for a parameter shaped like ``like``."""
        total = torch.zeros_like(like, requires_grad=False)
        # Floating point, because converting every gradient's signs would cost as much as adding them.
        sign_sum = torch.zeros_like(total, dtype=torch.promote_types(total.dtype, torch.float32))
        return cls(0, total, sign_sum, torch.zeros_like(total) if with_logs else None)

    @classmethod
    def without_votes(cls, n_environments: int, total: Tensor) -> GradientStatistics:
        """Statistics for an aggregator that needs only the sum of the gradients."""
        return cls(n_environments, total, total.new_full((), torch.nan))

    def add_(self, gradients: Tensor) -> GradientStatistics:
        """Add the gradients ``[E, *shape]`` of E more environments, in place."""
        self.n_environments += gradients.shape[0]
        self.total += _sum(gradients, self.total.dtype)
        # A few environments at a time, so that the temporaries stay small and in the cache.
        for few in torch.split(gradients, 8):
            self.sign_sum += _sum(few.sign(), self.sign_sum.dtype)
            if self.log_sum is not None:
                self.log_sum += _sum(few.abs().log_(), self.log_sum.dtype)
        return self


def _sum(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Sum over the first axis, without a copy where there is but one environment."""
    return values[0] if len(values) == 1 else values.sum(0, dtype=dtype)
