"""Buffers over several calls for one update: every call starts from the same values, and the mean remains."""

from __future__ import annotations

import torch
from torch import nn

from ilc.gradients._passes.mean_of_buffers import difference, moved_by
from ilc.gradients._trials.findings import remember_buffers


class BuffersOverCalls:
    """Collects what calls do to the buffers, and adds the mean over all environments at the end.

    After each call the buffers are as before it. It averages changes and not values, so that a constant
    buffer stays the same to the bit. What passes outside the calls do to the buffers stays.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._buffers = list(model.buffers()) if model.training else []
        self._changes = [torch.zeros_like(difference(buffer, buffer)) for buffer in self._buffers]
        self._n = 0

    def begin(self) -> None:
        """Remember the buffers before a call."""
        self._before = [buffer.clone() for buffer in self._buffers]

    def collect(self, n_environments: int) -> None:
        """Add what the call with so many environments has changed, and put the buffers back."""
        self._n += n_environments
        with torch.no_grad():
            for buffer, before, total in zip(self._buffers, self._before, self._changes, strict=True):
                total.add_(difference(before, buffer), alpha=n_environments)
                buffer.copy_(before)
        remember_buffers(self._model)

    def finish(self) -> None:
        """Change the buffers by the mean over all environments."""
        with torch.no_grad():
            for buffer, total in zip(self._buffers, self._changes, strict=True):
                buffer.copy_(moved_by(buffer, total, self._n))
        remember_buffers(self._model)
