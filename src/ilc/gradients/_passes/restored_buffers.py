"""Buffers that are put back when a step ends with an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def buffers_restored_after_errors(model: nn.Module) -> Iterator[None]:
    """Put the model's buffers back if a pass ends with an error, such as a refusal."""
    modules = [
        (module._buffers, dict(module._buffers.items())) for module in model.modules() if len(module._buffers)
    ]
    values = {id(b): (b, b.clone()) for _, kept in modules for b in kept.values() if b is not None}
    try:
        yield
    except BaseException:
        for buffers, kept in modules:
            if isinstance(buffers, dict):  # A scripted module writes in place when a buffer is assigned.
                buffers.clear()
                buffers.update(kept)
        with torch.no_grad():
            for buffer, value in values.values():
                buffer.copy_(value)
        raise
