"""BatchNorm whose statistics count as constants during a trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._example_terms.rules import RULES


@contextmanager
def batch_norm_mixing_nothing(model: nn.Module) -> Iterator[None]:
    """Let every BatchNorm take its batch statistics as constants, so that no gradient passes through them."""
    layers: list[Any] = [m for m in model.modules() if normalises_by_batch(m) and type(m) in RULES]

    def give_statistics(layer: Any, arguments: tuple[Tensor, ...]) -> None:
        x = arguments[0].detach()
        axes = [axis for axis in range(x.ndim) if axis != 1]
        like = x if layer.weight is None else layer.weight
        layer._buffers["running_mean"] = x.mean(axes).to(like.dtype)
        layer._buffers["running_var"] = x.var(axes, correction=0).to(like.dtype)

    before = [(layer, layer.training, dict(layer._buffers)) for layer in layers]
    handles = [layer.register_forward_pre_hook(give_statistics) for layer in layers]
    try:
        for layer in layers:
            layer.training = False
        yield
    finally:
        for handle in handles:
            handle.remove()
        for layer, training, buffers in before:
            layer.training = training
            layer._buffers.update(buffers)
