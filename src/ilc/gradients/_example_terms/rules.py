"""Each example's term of a layer's parameter gradients, rebuilt from the layer's input and output gradient.

There is one rule per kind of layer. A rule sees the layer, its input ``x [E, ...]`` and the gradient
``delta [E, ...]`` with respect to its output. It says how to make the terms of any slice of examples, so that
memory never holds more than a few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc._precision import wide_type, widened
from ilc.gradients._example_terms.convolution import convolution, convolution_gradient
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms, product, undivided
from ilc.kernels import _gpu_products
from ilc.kernels._compiled import usable
from ilc.kernels._patch_sums import Window, sums_and_signs

# With fewer rows the kernel cannot use the registers well.
_ENOUGH_ROWS = 4


def linear(layer: nn.Linear, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms | RankOneTerms]:
    """Outer products if there is one position per example, else ``linear_with_every_product``."""
    every = linear_with_every_product(layer, x, delta)
    if x[0].numel() != x.shape[-1]:
        return {**every}
    return {**every, "weight": RankOneTerms(delta.flatten(1), x.flatten(1))}


def linear_with_every_product(layer: nn.Linear, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The rule of ``y = x W^T + b``, summed over all axes between examples and features."""
    x, delta = x.reshape(len(x), -1, x.shape[-1]), delta.reshape(len(delta), -1, delta.shape[-1])
    return {"weight": products(x, delta), "bias": undivided(lambda s: delta[s].sum(1))}


def linear_written_out(layer: nn.Linear, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """Every product written out, as the correction for BatchNorm needs it."""
    return {"weight": products(x[:, None], delta[:, None]), "bias": undivided(lambda s: delta[s].clone())}


def linear_gradient(layer: nn.Linear, x: Tensor, delta: Tensor) -> Tensor:
    """The weight's gradient from a whole batch ``[E, in]``, ``[E, out]``."""
    dtype = wide_type(layer.weight.dtype)
    return delta.to(dtype).T @ x.to(dtype)


def products(x: Tensor, delta: Tensor) -> ExampleTerms:
    """From ``x [E, positions, in]`` and ``delta [E, positions, out]``."""
    sums = None
    float32 = x.dtype == delta.dtype == torch.float32
    if float32 and delta.shape[-1] >= _ENOUGH_ROWS and usable(x) and usable(delta):
        sums = partial(_sums_of_products, x, delta)
    elif _gpu_products.usable(x, delta):
        sums = partial(_gpu_products.sums_and_signs, x, delta)
    return ExampleTerms(
        lambda s: lambda rows, scratch: product(delta[s, :, rows].mT, x[s], scratch),
        delta.shape[-1],
        sums=sums,
    )


def _sums_of_products(x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of the products and of their signs, by the kernel: a position is an image of one pixel."""
    window = Window((1, 1), (1, 1), (0, 0))
    total, signs = sums_and_signs(x.contiguous()[:, None], delta.contiguous()[:, None], window)
    return total.flatten(1), signs.flatten(1)


def batch_norm(layer: Any, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The rule of BatchNorm's scale and shift. The input is normalised by the whole batch."""
    if layer.training or layer.running_mean is None:
        normalised = F.batch_norm(x, None, None, training=True, eps=layer.eps)
    else:
        normalised = F.batch_norm(x, layer.running_mean, layer.running_var, eps=layer.eps)
    return _scale_and_shift(lambda s: normalised[s], delta, keep=(1,))


def group_norm(layer: nn.GroupNorm, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The rule of GroupNorm's scale and shift."""
    return _scale_and_shift(lambda s: F.group_norm(x[s], layer.num_groups, eps=layer.eps), delta, keep=(1,))


def layer_norm(layer: nn.LayerNorm, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The rule of LayerNorm's scale and shift."""
    last = tuple(range(x.ndim - len(layer.normalized_shape), x.ndim))
    shape = list(layer.normalized_shape)
    return _scale_and_shift(lambda s: F.layer_norm(x[s], shape, eps=layer.eps), delta, keep=last)


def _scale_and_shift(
    normalised: Callable[[slice], Tensor], delta: Tensor, keep: tuple[int, ...]
) -> dict[str, ExampleTerms]:
    axes = [axis for axis in range(1, delta.ndim) if axis not in keep]

    def reduce(values: Tensor) -> Tensor:
        return values.sum(axes) if axes else values.clone()

    return {
        "weight": undivided(lambda s: reduce(delta[s] * normalised(s)), 2 * delta[0].numel()),
        "bias": undivided(lambda s: reduce(delta[s])),
    }


def embedding(layer: nn.Embedding, x: Tensor, delta: Tensor) -> dict[str, ExampleTerms]:
    """The rule of embeddings: an example's term lies in the rows of the table that it looked up."""
    indices, delta = x.reshape(len(x), -1), widened(delta.reshape(len(x), -1, layer.embedding_dim))
    if layer.padding_idx is not None:
        delta = delta * (indices != layer.padding_idx).unsqueeze(-1)

    def weight(s: slice) -> Tensor:
        table = delta.new_zeros(len(indices[s]), layer.num_embeddings, layer.embedding_dim)
        return table.scatter_add_(1, indices[s].unsqueeze(-1).expand_as(delta[s]), delta[s])

    return {"weight": undivided(weight)}


Rule = Callable[[Any, Tensor, Tensor], Mapping[str, ExampleTerms | RankOneTerms]]

RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.Conv3d: convolution,
    nn.BatchNorm1d: batch_norm,
    nn.BatchNorm2d: batch_norm,
    nn.BatchNorm3d: batch_norm,
    nn.GroupNorm: group_norm,
    nn.LayerNorm: layer_norm,
    nn.Embedding: embedding,
}
"""The rules by exact type, because a subclass may compute something else."""

WRITTEN_OUT: dict[type[nn.Module], Rule] = {**RULES, nn.Linear: linear_with_every_product}
"""The same rules, but linear layers write out every product."""


class BelowBatchNorm(NamedTuple):
    """What the correction for BatchNorm needs from the layer below it.

    Attributes:
        terms: a rule as in ``RULES``, with the weight written out in rows of output channels.
        gradient: the weight's gradient from a whole batch.
    """

    terms: Callable[[Any, Tensor, Tensor], Mapping[str, ExampleTerms]]
    gradient: Callable[[Any, Tensor, Tensor], Tensor]


BELOW_BATCH_NORM: dict[type[nn.Module], BelowBatchNorm] = {
    nn.Linear: BelowBatchNorm(linear_written_out, linear_gradient),
    nn.Conv1d: BelowBatchNorm(convolution, convolution_gradient),
    nn.Conv2d: BelowBatchNorm(convolution, convolution_gradient),
    nn.Conv3d: BelowBatchNorm(convolution, convolution_gradient),
}
"""The layers below BatchNorm whose votes can be corrected for the batch statistics."""
