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
        sign_sum: sum of the gradients' signs, int32. A component that is exactly 0 casts no vote.
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
        sign_sum = torch.zeros_like(total, dtype=torch.int32)
        return cls(0, total, sign_sum, torch.zeros_like(total) if with_logs else None)

    def add_(self, gradients: Tensor) -> GradientStatistics:
        """Add the gradients ``[E, *shape]`` of E more environments, in place."""
        self.n_environments += gradients.shape[0]
        self.total += gradients.sum(0)
        # A sum of signs is a small integer, exact in float32. NaN has no sign, hence no vote.
        signs = gradients.sign().sum(0, dtype=self._exact)
        self.sign_sum += signs.nan_to_num_(0.0).to(torch.int32)
        if self.log_sum is not None:
            self.log_sum += gradients.abs().log_().sum(0)
        return self

    @property
    def _exact(self) -> torch.dtype:
        return torch.promote_types(self.total.dtype, torch.float32)
