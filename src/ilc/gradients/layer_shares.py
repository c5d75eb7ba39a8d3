"""Each example's share of a layer's parameter gradients, rebuilt from its input and output gradient.

One rule per kind of layer. A rule sees the layer, its input ``x [E, ...]`` and the gradient
``delta [E, ...]`` with respect to its output, and says how to make the shares of any slice of
examples: so memory never holds more than a few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Shares(NamedTuple):
    """How to obtain the shares of one parameter.

    Attributes:
        of: shares ``[len(slice), *layout]`` of a slice of examples, in whatever layout is fastest; in
            memory of their own, which the caller may overwrite.
        restore: from a reduction ``[*layout]`` over examples to the parameter's own shape.
        extra: elements that ``of`` needs per example beside the share itself.
    """

    of: Callable[[slice], Tensor]
    restore: Callable[[Tensor], Tensor]
    extra: int = 0


def _same(tensor: Tensor) -> Tensor:
    return tensor


def linear(layer: nn.Linear, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """``y = x W^T + b``, summed over whatever axes lie between examples and features."""
    x, delta = x.reshape(len(x), -1, x.shape[-1]), delta.reshape(len(delta), -1, delta.shape[-1])
    return {
        "weight": Shares(lambda s: delta[s].transpose(1, 2) @ x[s], _same),
        "bias": Shares(lambda s: delta[s].sum(1), _same),
    }


def conv2d(layer: nn.Conv2d, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Output gradient times input patches, with any stride, padding, dilation and groups."""
    groups, (kh, kw) = layer.groups, layer.kernel_size
    per_group = x.shape[1] // groups
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    height, width = delta.shape[2:]
    flat = delta.reshape(len(delta), groups, -1, height * width)

    def weight(s: slice) -> Tensor:
        # Channels last, so that a patch is made of a few long runs of memory.
        padded = F.pad(x[s], layer._reversed_padding_repeated_twice, mode=mode)
        padded = padded.permute(0, 2, 3, 1).contiguous()
        n, row, column = padded.stride(0), padded.stride(1), padded.stride(2)
        patches = padded.as_strided(
            (len(padded), groups, height, width, kh, kw, per_group),
            (
                n,
                per_group,
                row * layer.stride[0],
                column * layer.stride[1],
                row * layer.dilation[0],
                column * layer.dilation[1],
                1,
            ),
        )
        shares = flat[s] @ patches.reshape(len(padded), groups, height * width, kh * kw * per_group)
        return shares.view(len(padded), -1, kh, kw, per_group)

    return {
        "weight": Shares(weight, lambda t: t.permute(0, 3, 1, 2), height * width * kh * kw * x.shape[1]),
        "bias": Shares(lambda s: delta[s].sum((2, 3)), _same),
    }


def batch_norm(layer: Any, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Scale and shift of BatchNorm; the normalised input is that of the whole batch."""
    shape = (1, -1, *([1] * (x.ndim - 2)))
    if layer.training or layer.running_mean is None:
        axes = [0, *range(2, x.ndim)]
        variance, mean = torch.var_mean(x, axes, correction=0)
    else:
        variance, mean = layer.running_var, layer.running_mean
    inverse = (variance + layer.eps).rsqrt().reshape(shape)
    return _scale_and_shift(lambda s: (x[s] - mean.reshape(shape)) * inverse, delta, keep=(1,))


def group_norm(layer: nn.GroupNorm, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Scale and shift of GroupNorm."""
    return _scale_and_shift(lambda s: F.group_norm(x[s], layer.num_groups, eps=layer.eps), delta, keep=(1,))


def layer_norm(layer: nn.LayerNorm, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Scale and shift of LayerNorm."""
    last = tuple(range(x.ndim - len(layer.normalized_shape), x.ndim))
    shape = list(layer.normalized_shape)
    return _scale_and_shift(lambda s: F.layer_norm(x[s], shape, eps=layer.eps), delta, keep=last)


def _scale_and_shift(
    normalised: Callable[[slice], Tensor], delta: Tensor, keep: tuple[int, ...]
) -> dict[str, Shares]:
    axes = [axis for axis in range(1, delta.ndim) if axis not in keep]

    def reduce(values: Tensor) -> Tensor:
        return values.sum(axes) if axes else values.clone()

    return {
        "weight": Shares(lambda s: reduce(delta[s] * normalised(s)), _same, 2 * delta[0].numel()),
        "bias": Shares(lambda s: reduce(delta[s]), _same),
    }


def embedding(layer: nn.Embedding, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Rows of the table that the example looked up."""
    indices, delta = x.reshape(len(x), -1), delta.reshape(len(x), -1, layer.embedding_dim)
    if layer.padding_idx is not None:
        delta = delta * (indices != layer.padding_idx).unsqueeze(-1)

    def weight(s: slice) -> Tensor:
        table = delta.new_zeros(len(indices[s]), layer.num_embeddings, layer.embedding_dim)
        return table.scatter_add_(1, indices[s].unsqueeze(-1).expand_as(delta[s]), delta[s])

    return {"weight": Shares(weight, _same)}


RULES: dict[type[nn.Module], Callable[[Any, Tensor, Tensor], dict[str, Shares]]] = {
    nn.Linear: linear,
    nn.Conv2d: conv2d,
    nn.BatchNorm1d: batch_norm,
    nn.BatchNorm2d: batch_norm,
    nn.BatchNorm3d: batch_norm,
    nn.GroupNorm: group_norm,
    nn.LayerNorm: layer_norm,
    nn.Embedding: embedding,
}
"""Exact types only: a subclass may compute something else."""
