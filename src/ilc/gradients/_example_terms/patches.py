"""The terms of a convolution of images by matrix products with the patches of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc._precision import widened
from ilc.gradients._example_terms.terms import ExampleTerms, product
from ilc.kernels import _gpu_products

# Numbers of patches that a GPU holds at once: 256 MiB in float32.
_NUMBERS_AT_ONCE = 2**26


def by_patches(layer: nn.Conv2d, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> ExampleTerms:
    """The terms in the layout ``[out, height, width, in]``."""
    groups = layer.groups
    height, width = delta.shape[2:]

    def weight(s: slice) -> Callable[[slice, Tensor], Tensor]:
        few = patches(layer, x[s], delta, padding)
        flat = delta[s].reshape(len(few), groups, -1, height * width)
        if groups == 1:
            return lambda rows, scratch: product(flat[:, 0, rows], few[:, 0], scratch)
        return lambda rows, scratch: flat @ few

    def arrange(weight: Tensor) -> Tensor:
        return weight.permute(0, 2, 3, 1).flatten(1)

    n_rows = delta.shape[1] if groups == 1 else 1
    extra = height * width * layer.kernel_size[0] * layer.kernel_size[1] * x.shape[1]
    return ExampleTerms(weight, n_rows, lambda total: _restored(layer, total), arrange, extra)


def sums_on_gpu(
    layer: nn.Conv2d, x: Tensor, delta: Tensor, padding: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """The sums of the terms and of their signs by the GPU's kernel, for a few examples at a time."""
    sums: list[Tensor] = []
    for part in _parts(layer, x, delta):
        inputs, gradients = patches(layer, x[part], delta, padding)[:, 0], delta[part].flatten(2).mT
        found = _gpu_products.sums_and_signs(inputs, gradients)
        sums = [before + new for before, new in zip(sums, found, strict=True)] if sums else [*found]
    total, signs = (_restored(layer, values).contiguous() for values in sums)
    return total, signs


def corrected_signs_on_gpu(
    layer: nn.Conv2d,
    x: Tensor,
    delta: Tensor,
    padding: tuple[int, ...],
    ones: Tensor,
    normed: Tensor,
    sum_normed: Tensor,
) -> Tensor:
    """The sum of the signs of the corrected terms by the GPU's kernel, for a few examples at a time.

    ``sum_normed`` is that of a ``BatchNormCorrection``, in the layout of the weight.
    """
    of_normed = sum_normed.permute(0, 2, 3, 1).flatten(1)
    of_ones = patches(layer, widened(x).sum(0, keepdim=True), delta, padding)[0, 0].sum(0)
    signs = torch.zeros_like(of_normed)
    for part in _parts(layer, x, delta):
        inputs, gradients = patches(layer, x[part], delta, padding)[:, 0], delta[part].flatten(2).mT
        correction = _gpu_products.Correction(ones[part], normed[part], of_ones, of_normed)
        signs += _gpu_products.corrected_signs(inputs, gradients, correction)
    return _restored(layer, signs).contiguous()


def _parts(layer: nn.Conv2d, x: Tensor, delta: Tensor) -> Iterator[slice]:
    """The examples whose patches a GPU holds at once."""
    few = max(1, _NUMBERS_AT_ONCE // (delta[0, 0].numel() * layer.weight[0].numel()))
    for start in range(0, len(x), few):
        yield slice(start, start + few)


def patches(layer: nn.Conv2d, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> Tensor:
    """The patches ``[E, groups, positions, kh * kw * in]`` of the input.

    Channels come last, so that a patch consists of a few long runs of memory.
    """
    padded = F.pad(x, (padding[1], padding[1], padding[0], padding[0])).permute(0, 2, 3, 1).contiguous()
    per_group = x.shape[1] // layer.groups
    (height, width), (kh, kw) = delta.shape[2:], layer.kernel_size
    n, row, column, _ = padded.stride()
    return padded.as_strided(
        (len(padded), layer.groups, height, width, kh, kw, per_group),
        (
            n,
            per_group,
            row * layer.stride[0],
            column * layer.stride[1],
            row * layer.dilation[0],
            column * layer.dilation[1],
            1,
        ),
    ).reshape(len(padded), layer.groups, height * width, kh * kw * per_group)


def _restored(layer: nn.Conv2d, total: Tensor) -> Tensor:
    """A sum in the layout of the weight."""
    return total.view(-1, *layer.kernel_size, layer.in_channels // layer.groups).permute(0, 3, 1, 2)
