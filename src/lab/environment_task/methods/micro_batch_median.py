"""The coordinate-wise median of micro-batches, a baseline against memorisation."""

from __future__ import annotations

from torch import Tensor

from lab.environment_task.methods.micro_batches import MicroBatchMethod


class MicroBatchMedian(MicroBatchMethod):
    """Every component of the update is the median over the micro-batches (M3 of Zielinski et al.).

    A direction that is strong in a single micro-batch has no effect. Source: arXiv 2003.07422, whose M3 has
    three micro-batches. For an even number, the mean of the middle two is taken.
    """

    def __init__(self, n_micro_batches: int = 3) -> None:
        super().__init__(n_micro_batches)

    def combine(self, gradients: Tensor) -> tuple[Tensor, float]:
        """The median of ``[K, P]``. A median masks nothing, so the share is 1. NaN stays NaN."""
        # The median of torch is the lower one of the middle two. It keeps NaN, which sorting would hide.
        lower, upper = gradients.median(0).values, -(-gradients).median(0).values
        return (lower + upper) / 2, 1.0
