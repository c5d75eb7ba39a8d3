"""Buffers over several calls for one update: every call starts from the same values, and the mean remains."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc.gradients._passes.mean_of_buffers import change_of, is_continuous, mean_of
from ilc.gradients._trials.findings import remember_buffers


class BuffersOverCalls:
    """Remembers the buffers before the first call, and leaves their mean over all environments at the end.

    It averages changes and not values, so that a constant buffer stays the same to the bit. Between calls the
    buffers are as before the first one.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._buffers = list(model.buffers()) if model.training else []
        self._start = [buffer.clone() for buffer in self._buffers]
        self._changes = [torch.zeros_like(_change(start, start)) for start in self._start]
        self._n = 0

    def collect(self, n_environments: int) -> None:
        """Add what a call with so many environments has changed, and put the buffers back."""
        self._n += n_environments
        with torch.no_grad():
            for buffer, start, total in zip(self._buffers, self._start, self._changes, strict=True):
                total.add_(_change(start, buffer), alpha=n_environments)
                buffer.copy_(start)
        remember_buffers(self._model)

    def finish(self) -> None:
        """Set the buffers to their mean over all environments."""
        with torch.no_grad():
            for buffer, start, total in zip(self._buffers, self._start, self._changes, strict=True):
                mean = start + total / self._n if is_continuous(start) else mean_of(start, total, self._n)
                buffer.copy_(mean)
        remember_buffers(self._model)


def _change(start: Tensor, now: Tensor) -> Tensor:
    return widened(now) - widened(start) if is_continuous(start) else change_of(start, now)
