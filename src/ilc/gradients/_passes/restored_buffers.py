"""What a step that ends with an error takes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def buffers_put_back_after_errors(model: nn.Module) -> Iterator[None]:
    """Leave the model's buffers as they were before passes that end with an error, such as a refusal."""
    modules = [
        (module._buffers, dict(module._buffers.items())) for module in model.modules() if len(module._buffers)
    ]
    values = {id(b): (b, b.clone()) for _, kept in modules for b in kept.values() if b is not None}
    try:
        yield
    except BaseException:
        for buffers, kept in modules:
            if isinstance(buffers, dict):  # In a scripted module, assigning anew writes in place.
                buffers.clear()
                buffers.update(kept)
        with torch.no_grad():
            for buffer, value in values.values():
                buffer.copy_(value)
        raise
