"""Buffers such as BatchNorm's running statistics: their mean over the environments of all processes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class MeanOfBuffers:
    """Remembers the buffers before a step, so that what changed can be averaged afterwards.

    Changes rather than values, so that a constant stays what it is to the bit.
    """

    def __init__(self, model: nn.Module) -> None:
        kept = list(model.buffers()) if model.training else []
        # A truth value has no mean: each process keeps its own.
        self._buffers = [buffer for buffer in kept if buffer.dtype != torch.bool]
        self._start = [buffer.clone() for buffer in self._buffers]

    def changes(self, counts: Sequence[int], rank: int) -> list[Tensor]:
        """What this process's environments did to each buffer, weighted so that a sum is the mean.

        Args:
            counts: environments of each process.
            rank: of this one.
        """
        # Counters advance alike in every environment: the first process that has one speaks for all.
        speaks = rank == next(r for r, count in enumerate(counts) if count)
        changes = []
        for buffer, start in zip(self._buffers, self._start, strict=True):
            if buffer.is_floating_point():
                changes.append((buffer - start) * (counts[rank] / sum(counts)))
            else:
                changes.append((buffer - start).long() * speaks)
        return changes

    def apply(self, changes: Sequence[Tensor]) -> None:
        """Set the buffers to where they started plus the sums of all processes' changes."""
        for buffer, start, change in zip(self._buffers, self._start, changes, strict=True):
            buffer.copy_(start + change)
