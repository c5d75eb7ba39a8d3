"""Each example's term of the gradient of an operand, by what the operation does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ilc._precision import widened
from ilc.gradients._example_terms.parameter_uses import Use
from ilc.gradients._example_terms.terms import ExampleTerms, undivided

Gradients = tuple[Tensor | None, ...]
"""The gradients of the outputs of an operation; None for an output that the risk does not reach."""


def operand_terms(use: Use, gradients: Gradients, n: int) -> ExampleTerms:
    """The terms of the tensor that meets the examples."""
    delta = gradients[0]
    if delta is None or not has_operand_rule(use):
        return _one_by_one(use, gradients, n)
    if _looks_up(use):
        return _looked_up(use, delta, n)
    if use.kind in _FACTORS:
        return _summed_over(use, delta, _FACTORS[use.kind](use).expand(delta.shape), n)
    scale = _SCALES[use.kind](use.node)
    return _summed_over(use, delta if scale == 1 else delta * scale, None, n)


def has_operand_rule(use: Use) -> bool:
    """Whether the terms need no backward step of the operation itself, one for each example."""
    return len(use.axes) == 1 and (use.kind in _FACTORS or use.kind in _SCALES or _looks_up(use))


def _looks_up(use: Use) -> bool:
    return use.kind == ("EmbeddingBackward0", 0) and use.axis == 0 and use.outer == 1


def _normalised(use: Use) -> Tensor:
    """The normalised input of a LayerNorm."""
    return (saved(use, "_saved_input") - saved(use, "_saved_result1")) * saved(use, "_saved_result2")


_FACTORS: dict[tuple[str, int], Callable[[Use], Tensor]] = {
    ("MulBackward0", 0): lambda use: saved(use, "_saved_other"),
    ("MulBackward0", 1): lambda use: saved(use, "_saved_self"),
    ("NativeLayerNormBackward0", 1): _normalised,
}
"""Operations whose output is the operand times a factor, or such a product plus something else."""

_SCALES: dict[tuple[str, int], Callable[[Any], float]] = {
    ("AddBackward0", 0): lambda node: 1,
    ("AddBackward0", 1): lambda node: node._saved_alpha,
    ("SubBackward0", 0): lambda node: 1,
    ("SubBackward0", 1): lambda node: -node._saved_alpha,
    ("AddmmBackward0", 0): lambda node: node._saved_beta,
    ("ExpandBackward0", 0): lambda node: 1,
    ("NativeLayerNormBackward0", 2): lambda node: 1,
}
"""Operations whose output is the operand times a number, plus something else."""


def saved(use: Use, name: str) -> Tensor:
    """What autograd has kept for the backward step of an operation."""
    kept: Tensor = getattr(use.node, name)
    return kept.detach()


def _summed_over(use: Use, delta: Tensor, factor: Tensor | None, n: int) -> ExampleTerms:
    """Output gradient times factor, summed over the axes along which the operand is repeated."""
    outputs = list(delta.shape)
    repeated = [1] * (len(outputs) - len(use.shape)) + list(use.shape)
    del outputs[use.axis], repeated[use.axis]
    axes = [1, *(2 + i for i, pair in enumerate(zip(outputs, repeated, strict=True)) if pair[0] != pair[1])]
    delta = by_example(delta, use, n)
    factor = None if factor is None else by_example(factor, use, n)

    def of(s: slice) -> Tensor:
        values = widened(delta[s])
        values = values if factor is None else values * factor[s]
        return values.sum(axes).reshape(len(values), *use.shape)

    return undivided(of, 2 * delta[0].numel())


def _looked_up(use: Use, delta: Tensor, n: int) -> ExampleTerms:
    """Rows of a table: an example's term lies in the rows that it looked up."""
    node: Any = use.node
    indices = by_example(saved(use, "_saved_indices"), use, n).flatten(1)
    delta = widened(by_example(delta, use, n).reshape(n, -1, delta.shape[-1]))
    delta = delta * (indices != node._saved_padding_idx).unsqueeze(-1)

    def of(s: slice) -> Callable[[slice, Tensor], Tensor]:
        def of_rows(rows: slice, scratch: Tensor) -> Tensor:
            first, last, _ = rows.indices(use.shape[0])
            inside = (indices[s] >= first) & (indices[s] < last)
            where = ((indices[s] - first) * inside).unsqueeze(-1).expand_as(delta[s])
            table = delta.new_zeros(len(where), last - first, use.shape[1])
            return table.scatter_add_(1, where, delta[s] * inside.unsqueeze(-1))

        return of_rows

    return ExampleTerms(of, use.shape[0])


def _one_by_one(use: Use, gradients: Gradients, n: int) -> ExampleTerms:
    """Any operation: its own backward step, once for each example, from the gradient of its outputs."""
    node: Any = use.node

    def of(s: slice) -> Tensor:
        rows = []
        for i in range(*s.indices(n)):
            kept = (
                None if g is None else _only(g, axis, use.outer, n, i)
                for g, axis in zip(gradients, use.axes, strict=True)
            )
            found = node(*kept)
            row: Tensor = found[use.operand] if isinstance(found, tuple) else found
            rows.append(row.sum_to_size(use.shape))
        return torch.stack(rows)

    return undivided(of)


def _only(gradient: Tensor, axis: int, outer: int, n: int, example: int) -> Tensor:
    """The gradient where it belongs to one example, zero elsewhere."""
    kept = torch.zeros_like(gradient)
    theirs, ours = (_split(values, axis, outer, n).select(axis + 1, example) for values in (gradient, kept))
    ours.copy_(theirs)
    return kept


def by_example(values: Tensor, use: Use, n: int) -> Tensor:
    """The values ``[n, positions, ...]``, without the axis of the examples."""
    split = _split(values, use.axis, use.outer, n)
    return split.movedim((use.axis + 1, use.axis, use.axis + 2), (0, 1, 2)).flatten(1, 2)


def _split(values: Tensor, axis: int, outer: int, n: int) -> Tensor:
    """A view with the axis of the examples in three: what runs outside the examples, they, and inside."""
    return values.view(*values.shape[:axis], outer, n, -1, *values.shape[axis + 1 :])
