"""The rule of convolutions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv1d_weight, conv2d_weight, conv3d_weight

from ilc._precision import wide_type
from ilc.gradients._example_terms.patches import by_patches, corrected_signs_on_gpu, sums_on_gpu
from ilc.gradients._example_terms.terms import ExampleTerms, undivided
from ilc.kernels import _gpu_products
from ilc.kernels._compiled import usable
from ilc.kernels._patch_sums import Window, corrected_signs, sums_and_signs

# Measured on CPUs: a convolution is faster if each weight collects from more positions than this.
_MANY_POSITIONS = 64

_WEIGHT_GRADIENT: dict[int, Callable[..., Tensor]] = {3: conv1d_weight, 4: conv2d_weight, 5: conv3d_weight}

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d


def convolution(layer: Convolution, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The output gradient times the input patches, for any stride, padding, dilation and groups."""
    x, delta, padding = prepared = _prepared(layer, x, delta, layer.weight.dtype)
    many = x.device.type == "cpu" and delta[0, 0].numel() > _MANY_POSITIONS
    if isinstance(layer, nn.Conv2d) and not many:
        weight = by_patches(layer, x, delta, padding)
    else:
        weight = _by_convolution(layer, x, delta, padding)
    if _has_kernel(layer, x, delta):
        weight = weight._replace(
            sums=lambda: _sums(layer, *prepared), corrected_signs=partial(_corrected_signs, layer, *prepared)
        )
    elif isinstance(layer, nn.Conv2d) and layer.groups == 1 and _gpu_products.usable(x, delta):
        weight = weight._replace(
            sums=lambda: sums_on_gpu(layer, *prepared),
            corrected_signs=partial(corrected_signs_on_gpu, layer, *prepared),
        )
    return {"weight": weight, "bias": undivided(lambda s: delta[s].flatten(2).sum(2))}


def convolution_gradient(layer: Convolution, x: Tensor, delta: Tensor) -> Tensor:
    """The weight's gradient from a whole batch."""
    x, delta, padding = _prepared(layer, x, delta, wide_type(layer.weight.dtype))
    how = (layer.stride, padding, layer.dilation, False, [0] * len(padding), layer.groups)
    weight = layer.weight.detach().to(x.dtype)
    _, gradient, _ = torch.ops.aten.convolution_backward(delta, x, weight, None, *how, (False, True, False))
    result: Tensor = gradient
    return result


def _prepared(
    layer: Convolution, x: Tensor, delta: Tensor, dtype: torch.dtype
) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Input and output gradient in one type (they differ under autocast), and the remaining zero padding."""
    x, delta = x.to(dtype), delta.to(dtype)
    if layer.padding_mode == "zeros" and not isinstance(layer.padding, str):
        return x, delta, layer.padding
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return F.pad(x, layer._reversed_padding_repeated_twice, mode=mode), delta, (0,) * (x.ndim - 2)


def _by_convolution(layer: Convolution, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> ExampleTerms:
    """The terms by one convolution whose groups are the examples, so that no patch is stored."""

    def one_example(values: Tensor) -> Tensor:
        # Flat first: an image of one pixel counts as contiguous in any layout and would keep its strides.
        return values.contiguous().view(-1).view(1, -1, *values.shape[2:])

    def weight(s: slice) -> Tensor:
        n = len(x[s])
        terms = _WEIGHT_GRADIENT[x.ndim](
            one_example(x[s]),
            (n * layer.out_channels, *layer.weight.shape[1:]),
            one_example(delta[s]),
            layer.stride,
            padding,
            layer.dilation,
            n * layer.groups,
        )
        return terms.view(n, *layer.weight.shape)

    return undivided(weight)


def _has_kernel(layer: Convolution, x: Tensor, delta: Tensor) -> bool:
    """Whether there is a kernel: for common convolutions of images."""
    usual = isinstance(layer, nn.Conv2d) and layer.groups == 1 and layer.dilation == (1, 1)
    return usual and x.dtype == torch.float32 and usable(x) and usable(delta)


def _sums(layer: Convolution, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The sums of the terms and of their signs, by the kernel."""
    sums = sums_and_signs(_channels_last(x), _channels_last(delta), _window(layer, padding))
    total, signs = (values.permute(0, 3, 1, 2).contiguous() for values in sums)
    return total, signs


def _corrected_signs(
    layer: Convolution,
    x: Tensor,
    delta: Tensor,
    padding: tuple[int, ...],
    ones: Tensor,
    normed: Tensor,
    sum_normed: Tensor,
) -> Tensor:
    """The sum of the signs of the corrected terms, by the kernel."""
    x, delta, sum_normed = (_channels_last(values) for values in (x, delta, sum_normed))
    signs = corrected_signs(x, delta, _window(layer, padding), ones, normed, sum_normed)
    return signs.permute(0, 3, 1, 2).contiguous()


def _channels_last(values: Tensor) -> Tensor:
    return values.permute(0, 2, 3, 1).contiguous()


def _window(layer: Convolution, padding: tuple[int, ...]) -> Window:
    return Window(layer.kernel_size, layer.stride, padding)  # type: ignore[arg-type]
