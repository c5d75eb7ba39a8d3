"""Buffers over several passes: every environment starts from the same, and they end as the mean."""

from __future__ import annotations

import torch
from torch import nn

from ilc.errors import UserError


class MeanOfBuffers:
    """Lets environments update the model's buffers from the same start; leaves their mean over environments.

    A buffer may be written in place or assigned anew: afterwards the model has the tensor it had before, with
    new values. In evaluation mode nothing is expected to move.
    """

    def __init__(self, model: nn.Module) -> None:
        modules = list(model.named_modules()) if model.training else []
        self._places = [
            (f"{name}.{key}".lstrip("."), module._buffers, key, buffer)
            for name, module in modules
            for key, buffer in module._buffers.items()
            if buffer is not None
        ]
        self._start = [buffer.clone() for *_, buffer in self._places]
        self._sums = [torch.zeros_like(buffer) for *_, buffer in self._places]
        self._n = 0

    def __enter__(self) -> MeanOfBuffers:
        return self

    def restart(self) -> None:
        """Give the pass of an environment buffers as they were at the start.

        Copies, because the graph of an earlier pass may still hold the ones that it had.
        """
        for (_, buffers, key, _), start in zip(self._places, self._start, strict=True):
            buffers[key] = start.clone()

    def collect(self, n_environments: int = 1) -> None:
        """Add what a pass over some environments left, which is their mean.

        Raises:
            UserError: a buffer of another shape than before.
        """
        self._n += n_environments
        for (name, buffers, key, buffer), total in zip(self._places, self._sums, strict=True):
            now = buffers[key]
            if now is None or now.shape != buffer.shape:
                raise UserError(
                    f"the forward pass changes the shape of the buffer {name}, so that there is no mean over "
                    "environments: give it its final shape from the start, or keep it outside the model"
                )
            if buffer.is_floating_point():
                total.add_(now.detach(), alpha=n_environments)
            elif now is not buffer:
                buffer.copy_(now)

    def __exit__(self, error: type[BaseException] | None, *details: object) -> None:
        if error is not None:
            for (_, buffers, key, buffer), start in zip(self._places, self._start, strict=True):
                buffers[key] = buffer
                buffer.copy_(start)
            return
        for (_, buffers, key, buffer), total in zip(self._places, self._sums, strict=True):
            buffers[key] = buffer
            # Counters advance alike in every environment: the last value is already in place.
            if buffer.is_floating_point():
                buffer.copy_(total / self._n)
