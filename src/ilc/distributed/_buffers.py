"""The mean of buffers, such as BatchNorm's running statistics, over the environments of all processes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ilc.gradients._passes.mean_of_buffers import difference, moved_by


class MeanOfBuffers:
    """Remembers the buffers before a step, so that their changes can be averaged afterwards.

    It averages changes and not values, so that a constant buffer stays the same to the bit.
    """

    def __init__(self, model: nn.Module) -> None:
        self._buffers = list(model.buffers()) if model.training else []
        self._start = [buffer.clone() for buffer in self._buffers]

    def changes(self, counts: Sequence[int], rank: int) -> list[Tensor]:
        """The change of each buffer by this process's environments, times their number.

        Args:
            counts: the number of environments of each process.
            rank: the rank of this process.
        """
        self._n = sum(counts)
        found = [difference(start, buffer) for buffer, start in zip(self._buffers, self._start, strict=True)]
        # Nothing times infinity would be NaN.
        return [change * counts[rank] if counts[rank] else torch.zeros_like(change) for change in found]

    def apply(self, changes: Sequence[Tensor]) -> None:
        """Set the buffers to their mean over all environments, from the summed changes of all processes."""
        for buffer, start, change in zip(self._buffers, self._start, changes, strict=True):
            buffer.copy_(moved_by(start, change, self._n))
