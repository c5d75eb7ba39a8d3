"""The mean of buffers, such as BatchNorm's running statistics, over the environments of all processes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ilc.gradients._passes.mean_of_buffers import difference, is_continuous, mean_of


class MeanOfBuffers:
    """Remembers the buffers before a step, so that their changes can be averaged afterwards.

    It averages changes and not values, so that a constant buffer stays the same to the bit.
    """

    def __init__(self, model: nn.Module) -> None:
        self._buffers = list(model.buffers()) if model.training else []
        self._start = [buffer.clone() for buffer in self._buffers]

    def changes(self, counts: Sequence[int], rank: int) -> list[Tensor]:
        """The change of each buffer by this process's environments, weighted by their number.

        Args:
            counts: the number of environments of each process.
            rank: the rank of this process.
        """
        self._n = sum(counts)
        return [
            difference(start, buffer) * (counts[rank] / self._n if is_continuous(buffer) else counts[rank])
            for buffer, start in zip(self._buffers, self._start, strict=True)
        ]

    def apply(self, changes: Sequence[Tensor]) -> None:
        """Set the buffers to their mean over all environments, from the summed changes of all processes."""
        for buffer, start, change in zip(self._buffers, self._start, changes, strict=True):
            buffer.copy_(start + change if is_continuous(buffer) else mean_of(start, change, self._n))
