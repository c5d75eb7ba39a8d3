"""How the batch statistics above a layer change each example's vote for that layer's weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from ilc.aggregators import GradientStatistics
from ilc.kernels._votes import add_mixed_signs


@dataclass(frozen=True)
class BatchNormCorrection:
    """Turns a vote ``o_i`` into ``diag(scale) (o_i - diag(ones_i) S0 - diag(normed_i) S1)``.

    ``o_i`` is the vote that takes the batch statistics as constants.
    The layer computes ``z = w * x`` and BatchNorm ``y = gamma (z - mu) / sigma + beta``. A change of ``w``
    changes ``mu`` and ``sigma`` through the patches ``x`` of every example. The last two terms are the effect
    of this on the risk of example i.

    Attributes:
        ones: ``[E, out]``, the mean over the batch's positions of dL_i/dy_i.
        normed: ``[E, out]``, the mean over the batch's positions of dL_i/dy_i times the normalised input.
        scale: ``[out]``, gamma / sigma. It multiplies whole rows, so the sums are scaled instead of the
            votes.
        of_ones: computes S0, the sum over batch and positions of the patches, in the weight's own layout.
            Kernels have their own way and do not call it.
        of_normed: computes S1, the same sum of the normalised input times the patches.
        arrange: takes both to the layout ``[out, ...]`` of the votes.
    """

    ones: Tensor
    normed: Tensor
    scale: Tensor
    of_ones: Callable[[], Tensor]
    of_normed: Callable[[], Tensor]
    arrange: Callable[[Tensor], Tensor]

    @cached_property
    def sum_ones(self) -> Tensor:
        """S0 in the layout of the votes."""
        return self.arrange(self.of_ones())

    @cached_property
    def sum_normed(self) -> Tensor:
        """S1 in the layout of the votes."""
        return self.arrange(self.of_normed())

    def add_signs(self, votes: Tensor, examples: slice, channels: slice, sign_sum: Tensor) -> None:
        """Correct the votes and add their signs to that part of the flat sums, in one pass over memory."""
        ones, normed = self.ones[examples, channels], self.normed[examples, channels]
        by_row = votes.view(*ones.shape, -1)
        add_mixed_signs(
            by_row,
            ones.contiguous(),
            normed.contiguous(),
            self.sum_ones[channels],
            self.sum_normed[channels],
            sign_sum.view(by_row.shape[1:]),
        )

    def subtract_from(self, votes: Tensor, examples: slice, channels: slice) -> None:
        """Subtract both terms in place from flat votes ``[few, rows * ...]`` of some examples and rows."""
        ones, normed = self.ones[examples, channels, None], self.normed[examples, channels, None]
        by_row = votes.view(len(votes), ones.shape[1], -1)
        by_row.addcmul_(ones, self.sum_ones[channels], value=-1)
        by_row.addcmul_(normed, self.sum_normed[channels], value=-1)

    def rescale(self, statistics: GradientStatistics) -> None:
        """Multiply every vote by the scale of its row, in the flat sums and once for all examples."""
        n_out = len(self.scale)
        scale = self.scale.to(statistics.total.dtype)[:, None]
        statistics.total.view(n_out, -1).mul_(scale)
        statistics.sign_sum.view(n_out, -1).mul_(scale.sign())
        if statistics.log_sum is not None:
            statistics.log_sum.view(n_out, -1).add_(scale.abs().log(), alpha=statistics.n_environments)
        if statistics.square_sum is not None:
            statistics.square_sum.view(n_out, -1).mul_(scale.square())
        if statistics.magnitude_sum is not None:
            statistics.magnitude_sum.view(n_out, -1).mul_(scale.abs())
