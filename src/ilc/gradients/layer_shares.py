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
from torch.nn.grad import conv2d_weight

# Measured on CPUs: a convolution wins where each weight collects from more positions than these.
_MANY_POSITIONS = 64


class Shares(NamedTuple):
    """How to obtain the shares of one parameter.

    Attributes:
        of: for a slice of examples, how to obtain any slice of rows of their shares,
            ``[examples, rows, ...]``, in memory that the caller may overwrite: a new one, or the
            flat scratch memory given. A parameter of one row is obtained whole.
        n_rows: rows of a share, in whatever layout is fastest.
        restore: from a reduction over examples, flat in that layout, to the parameter's own.
        extra: elements that ``of`` needs per example beside the share itself.
    """

    of: Callable[[slice], Callable[[slice, Tensor], Tensor]]
    n_rows: int = 1
    restore: Callable[[Tensor], Tensor] = lambda flat: flat
    extra: int = 0


def _whole(of: Callable[[slice], Tensor], extra: int = 0) -> Shares:
    """Shares too small to be worth dividing into rows."""
    return Shares(lambda s: lambda rows, scratch: of(s), extra=extra)


def linear(layer: nn.Linear, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """``y = x W^T + b``, summed over whatever axes lie between examples and features."""
    x, delta = x.reshape(len(x), -1, x.shape[-1]), delta.reshape(len(delta), -1, delta.shape[-1])
    return {
        "weight": Shares(
            lambda s: lambda rows, scratch: _product(delta[s, :, rows].mT, x[s], scratch), delta.shape[-1]
        ),
        "bias": _whole(lambda s: delta[s].sum(1)),
    }


def conv2d(layer: nn.Conv2d, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Output gradient times input patches, with any stride, padding, dilation and groups."""
    x, delta = x.to(layer.weight.dtype), delta.to(layer.weight.dtype)  # Under autocast they differ.
    if layer.padding_mode == "zeros" and not isinstance(layer.padding, str):
        padding = layer.padding
    else:
        mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
        x, padding = F.pad(x, layer._reversed_padding_repeated_twice, mode=mode), (0, 0)
    many = x.device.type == "cpu" and delta[0, 0].numel() > _MANY_POSITIONS
    of_weight = _by_convolution if many else _by_patches
    return {
        "weight": of_weight(layer, x, delta, padding),
        "bias": _whole(lambda s: delta[s].sum((2, 3))),
    }


def _by_convolution(layer: nn.Conv2d, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> Shares:
    """One convolution whose groups are the examples: no patch is ever written down."""
    x, delta = x.contiguous(), delta.contiguous()

    def weight(s: slice) -> Tensor:
        n = len(x[s])
        shares: Tensor = conv2d_weight(  # type: ignore[no-untyped-call]
            x[s].flatten(0, 1).unsqueeze(0),
            (n * layer.out_channels, *layer.weight.shape[1:]),
            delta[s].flatten(0, 1).unsqueeze(0),
            layer.stride,
            padding,
            layer.dilation,
            n * layer.groups,
        )
        return shares.view(n, *layer.weight.shape)

    return _whole(weight)


def _by_patches(layer: nn.Conv2d, x: Tensor, delta: Tensor, padding: tuple[int, ...]) -> Shares:
    """A matrix product with the patches, in the layout ``[out, kernel height, kernel width, in]``."""
    groups, (kh, kw) = layer.groups, layer.kernel_size
    per_group = x.shape[1] // groups
    height, width = delta.shape[2:]
    flat = delta.reshape(len(delta), groups, -1, height * width)

    def weight(s: slice) -> Callable[[slice, Tensor], Tensor]:
        # Channels last, so that a patch is made of a few long runs of memory.
        padded = F.pad(x[s], (padding[1], padding[1], padding[0], padding[0]))
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
        ).reshape(len(padded), groups, height * width, kh * kw * per_group)
        if groups == 1:
            return lambda rows, scratch: _product(flat[s, 0, rows], patches[:, 0], scratch)
        return lambda rows, scratch: flat[s] @ patches

    def restore(total: Tensor) -> Tensor:
        return total.view(-1, kh, kw, per_group).permute(0, 3, 1, 2)

    n_rows = delta.shape[1] if groups == 1 else 1
    return Shares(weight, n_rows, restore, height * width * kh * kw * x.shape[1])


def _product(a: Tensor, b: Tensor, scratch: Tensor) -> Tensor:
    """``a @ b`` in scratch memory: asking the system for new memory costs as much as the product."""
    if scratch.dtype != a.dtype or a.dtype != b.dtype:
        return a.to(scratch.dtype) @ b.to(scratch.dtype)
    out = scratch[: len(a) * a.shape[1] * b.shape[2]].view(len(a), a.shape[1], b.shape[2])
    return torch.bmm(a, b, out=out)


def batch_norm(layer: Any, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Scale and shift of BatchNorm; the normalised input is that of the whole batch."""
    if layer.training or layer.running_mean is None:
        normalised = F.batch_norm(x, None, None, training=True, eps=layer.eps)
    else:
        normalised = F.batch_norm(x, layer.running_mean, layer.running_var, eps=layer.eps)
    return _scale_and_shift(lambda s: normalised[s], delta, keep=(1,))


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
        "weight": _whole(lambda s: reduce(delta[s] * normalised(s)), 2 * delta[0].numel()),
        "bias": _whole(lambda s: reduce(delta[s])),
    }


def embedding(layer: nn.Embedding, x: Tensor, delta: Tensor) -> dict[str, Shares]:
    """Rows of the table that the example looked up."""
    indices, delta = x.reshape(len(x), -1), delta.reshape(len(x), -1, layer.embedding_dim)
    if layer.padding_idx is not None:
        delta = delta * (indices != layer.padding_idx).unsqueeze(-1)

    def weight(s: slice) -> Tensor:
        table = delta.new_zeros(len(indices[s]), layer.num_embeddings, layer.embedding_dim)
        return table.scatter_add_(1, indices[s].unsqueeze(-1).expand_as(delta[s]), delta[s])

    return {"weight": _whole(weight)}


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
