"""BatchNorm in training mode with two backward passes: the usual one, and a local one for the votes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc.kernels import _gpu_batch_norm
from ilc.kernels._batch_norm import normalise_backward
from ilc.kernels._compiled import usable


class BatchNormRecord(NamedTuple):
    """What one BatchNorm saw in the local backward pass. M is the number of values behind a statistic.

    Attributes:
        own: the gradient ``[E, C, ...]`` of each example's risk with respect to its own rows of the output.
        passed: the gradient that is handed to the layer below, for each example's own rows.
        normalised: the normalised input ``[E, C, ...]``.
        ones: ``[E, C]``, the sum over positions of ``own``, divided by M.
        normed: ``[E, C]``, the sum over positions of ``own * normalised``, divided by M.
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


class TrackedBatchNorm:
    """One BatchNorm in one forward pass: which backward pass is under way, and what the local one saw."""

    def __init__(
        self, layer: Any, x: Tensor, output: Tensor, collect: Callable[[BatchNormRecord], None]
    ) -> None:
        self.mean, self.invstd = _statistics(layer, x.detach(), output)
        self.eps: float = layer.eps
        self.local = False
        self._collect = collect
        self.record: BatchNormRecord | None = None
        self.output: Tensor | None = output.detach()

    def replacing(self, layer: Any, x: Tensor) -> Tensor:
        """The same output of the layer, now with a backward pass that can be switched."""
        result: Tensor = _Normalised.apply(x, layer.weight, layer.bias, self)  # type: ignore[no-untyped-call]
        return result

    def local_backward(self, x: Tensor, weight: Tensor | None, delta: Tensor) -> Tensor:
        """Record what the votes need, and return the gradient for the layer below."""
        mean, invstd = widened(self.mean), widened(self.invstd)
        scale = invstd if weight is None else invstd * weight.detach()
        count = x.numel() // x.shape[1]
        delta = _laid_out_as(x, delta.to(mean.dtype))
        dense = x.is_contiguous() or x.is_contiguous(memory_format=_channels_last(x))
        backward = _backward
        if usable(delta) and x.dtype == delta.dtype and dense:
            backward = normalise_backward
        elif _gpu_batch_norm.usable(x, delta):
            backward = _gpu_batch_norm.normalise_backward
        normalised, passed, ones, normed = backward(x, delta, mean, invstd, scale)
        self.record = BatchNormRecord(delta, passed, normalised, ones, normed, scale, count)
        self._collect(self.record)
        return passed


def _backward(
    x: Tensor, delta: Tensor, mean: Tensor, invstd: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Do the same as ``normalise_backward`` with PyTorch."""
    by_channel = [1, -1] + [1] * (x.ndim - 2)
    by_row = (*x.shape[:2], *by_channel[2:])
    count = x.numel() // x.shape[1]
    normalised = (x - mean.view(by_channel)).mul_(invstd.view(by_channel))
    ones = delta.reshape(*x.shape[:2], -1).sum(2).div_(count)
    normed = (delta * normalised).reshape(*x.shape[:2], -1).sum(2).div_(count)
    passed = torch.addcmul(delta - ones.view(by_row), normalised, normed.view(by_row), value=-1)
    return normalised, passed.mul_(scale.view(by_channel)).to(x.dtype), ones, normed


def _statistics(layer: Any, x: Tensor, output: Tensor) -> tuple[Tensor, Tensor]:
    """The mean, and one divided by the standard deviation."""
    node = output.grad_fn
    # They are stored already; to compute them again costs 4 % of a step.
    if type(node).__name__ in ("NativeBatchNormBackward0", "CudnnBatchNormBackward0"):
        return node._saved_result1, node._saved_result2  # type: ignore[union-attr]
    variance, mean = torch.var_mean(widened(x), [axis for axis in range(x.ndim) if axis != 1], correction=0)
    return mean, torch.rsqrt(variance + layer.eps)


def _channels_last(x: Tensor) -> torch.memory_format:
    """The layout in which the channels of one position lie side by side."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return formats.get(x.ndim, torch.contiguous_format)


def _laid_out_as(x: Tensor, delta: Tensor) -> Tensor:
    """``delta`` in the memory layout of ``x``, because torch is slow where the two differ."""
    last = _channels_last(x)
    if not x.is_contiguous() and x.is_contiguous(memory_format=last):
        return delta.contiguous(memory_format=last)
    return delta.contiguous()


class _Normalised(torch.autograd.Function):
    """The output that BatchNorm has computed, with a choice of two backward passes."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, followed: TrackedBatchNorm
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.followed = followed
        output, followed.output = followed.output, None
        assert output is not None, "the output is used once per pass"
        return output

    @staticmethod
    def backward(ctx: Any, *deltas: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        followed: TrackedBatchNorm = ctx.followed
        if followed.local:
            return followed.local_backward(x, weight, deltas[0]), None, None, None
        gradients = torch.ops.aten.native_batch_norm_backward(
            _laid_out_as(x, deltas[0]),
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


def normalises_by_batch(layer: nn.Module) -> bool:
    """Whether the layer is a BatchNorm that normalises by the statistics of the batch."""
    if not isinstance(layer, nn.modules.batchnorm._BatchNorm):
        return False
    return layer.training or layer.running_mean is None
