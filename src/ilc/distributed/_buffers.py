"""Buffers such as BatchNorm's running statistics: their mean over the environments of all processes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ilc._precision import widened
from ilc.gradients._passes.mean_of_buffers import change_of, is_continuous, mean_of


class MeanOfBuffers:
    """Remembers the buffers before a step, so that what changed can be averaged afterwards.

    Changes rather than values, so that a constant stays what it is to the bit.
    """

    def __init__(self, model: nn.Module) -> None:
        self._buffers = list(model.buffers()) if model.training else []
        self._start = [buffer.clone() for buffer in self._buffers]

    def changes(self, counts: Sequence[int], rank: int) -> list[Tensor]:
        """What this process's environments did to each buffer, weighted by their number.

        Args:
            counts: environments of each process.
            rank: of this one.
        """
        self._n = sum(counts)
        return [
            (widened(buffer) - widened(start)) * (counts[rank] / self._n)
            if is_continuous(buffer)
            else change_of(start, buffer) * counts[rank]
            for buffer, start in zip(self._buffers, self._start, strict=True)
        ]

    def apply(self, changes: Sequence[Tensor]) -> None:
        """Set the buffers to their mean over all environments, from the sums of all processes' changes."""
        for buffer, start, change in zip(self._buffers, self._start, changes, strict=True):
            buffer.copy_(start + change if is_continuous(buffer) else mean_of(start, change, self._n))
