"""BatchNorm in training mode: followed one layer for the votes, all the way for the batch gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Seen(NamedTuple):
    """What one BatchNorm saw in the local backward pass; M is the number of values behind a statistic.

    Attributes:
        own: gradient ``[E, C, ...]`` of each example's risk with respect to its own rows of the output.
        passed: gradient handed to the layer below, for each example's own rows.
        normalised: the normalised input ``[E, C, ...]``.
        ones: ``[E, C]``, sum over positions of ``own``, divided by M.
        normed: ``[E, C]``, sum over positions of ``own * normalised``, divided by M.
        scale: ``[C]``, the layer's scale divided by the standard deviation.
        n_values: M.
    """

    own: Tensor
    passed: Tensor
    normalised: Tensor
    ones: Tensor
    normed: Tensor
    scale: Tensor
    n_values: int


class Followed:
    """One BatchNorm in one pass: which backward pass is under way, and what it saw in the local one."""

    def __init__(self, layer: Any, x: Tensor, output: Tensor, collect: Callable[[Seen], None]) -> None:
        axes = [axis for axis in range(x.ndim) if axis != 1]
        wide = torch.promote_types(x.dtype, torch.float32)
        variance, self.mean = torch.var_mean(x.detach().to(wide), axes, correction=0)
        self.invstd = torch.rsqrt(variance + layer.eps)
        self.eps: float = layer.eps
        self.local = False
        self._collect = collect
        self.seen: Seen | None = None
        self.output: Tensor | None = output.detach()

    def replacing(self, layer: Any, x: Tensor) -> Tensor:
        """The layer's output again, now with a backward pass of its own."""
        result: Tensor = _Normalised.apply(x, layer.weight, layer.bias, self)  # type: ignore[no-untyped-call]
        return result

    def look(self, x: Tensor, weight: Tensor | None, delta: Tensor) -> Tensor:
        """Keep what the local pass needs; return what it hands to the layer below."""
        shape = [1, -1] + [1] * (x.ndim - 2)
        mean, invstd = self.mean.view(shape), self.invstd.view(shape)
        normalised = (x - mean).mul_(invstd)
        delta = delta.to(normalised.dtype)
        scale = self.invstd if weight is None else self.invstd * weight.detach()
        count = x.numel() // x.shape[1]
        positions = (*x.shape[:2], -1)
        ones = delta.reshape(positions).sum(2).div_(count)
        normed = (delta * normalised).reshape(positions).sum(2).div_(count)
        per_row = (*x.shape[:2], *shape[2:])
        passed = torch.addcmul(delta - ones.view(per_row), normalised, normed.view(per_row), value=-1)
        passed = passed.mul_(scale.view(shape)).to(x.dtype)
        self.seen = Seen(delta, passed, normalised, ones, normed, scale, count)
        self._collect(self.seen)
        return passed


class _Normalised(torch.autograd.Function):
    """What BatchNorm has computed, with the choice of backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, followed: Followed
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.followed = followed
        output, followed.output = followed.output, None
        assert output is not None, "applied once per pass"
        return output

    @staticmethod
    def backward(ctx: Any, *deltas: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        followed: Followed = ctx.followed
        if followed.local:
            return followed.look(x, weight, deltas[0]), None, None, None
        gradients = torch.ops.aten.native_batch_norm_backward(
            deltas[0].contiguous(),
            x,
            weight,
            None,
            None,
            followed.mean,
            followed.invstd,
            True,
            followed.eps,
            list(ctx.needs_input_grad[:3]),
        )
        of_x, of_weight, of_bias = gradients
        return of_x, of_weight, of_bias, None


def mixes_examples(layer: nn.Module) -> bool:
    """Whether the layer is a BatchNorm that normalises by the statistics of the batch."""
    if not isinstance(layer, nn.modules.batchnorm._BatchNorm):
        return False
    return layer.training or layer.running_mean is None
