"""The coordinate-wise median of micro-batches, a baseline against memorisation."""

from __future__ import annotations

from torch import Tensor

from lab.environment_task.methods.micro_batches import MicroBatchMethod


class MicroBatchMedian(MicroBatchMethod):
    """Every component moves by the median of the micro-batches' gradients (M3 of Zielinski et al.).

    A direction that is strong in one part of the batch alone is outvoted. Source: arXiv 2003.07422,
    whose M3 has three micro-batches. An even number takes the mean of the middle two.
    """

    def __init__(self, n_micro_batches: int = 3) -> None:
        super().__init__(n_micro_batches)

    def combine(self, gradients: Tensor) -> tuple[Tensor, float]:
        """The median of ``[K, P]``; a median masks nothing, so the share is 1. NaN stays NaN."""
        # torch's median is the lower one of the middle two, and keeps NaN, which sorting would hide.
        lower, upper = gradients.median(0).values, -(-gradients).median(0).values
        return (lower + upper) / 2, 1.0
