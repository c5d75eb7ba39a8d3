"""Which axis of each tensor of a forward pass is the examples, found by two passes of different sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torch import Tensor
from torch.autograd.graph import Node
from torch.utils._pytree import tree_leaves

Shapes = tuple[tuple[int, ...], ...]
Axes = dict[Node, tuple[int | None, ...]]
"""For each operation and each of its outputs the axis of the examples; None for what has none.

It is ``SEVERAL`` where more than one axis follows their number.
"""

SEVERAL = -1
"""Stands for the axis where more than one may be that of the examples."""

SHOWS_SHAPES = hasattr(Node, "_input_metadata")
"""Whether this torch tells the shapes of an operation's outputs. Version 2.4 does not."""


class Outline(NamedTuple):
    """The operations behind the outputs of a pass over ``n`` examples, with the shapes of their outputs."""

    n: int
    steps: tuple[tuple[str, Shapes], ...]

    @classmethod
    def of(cls, nodes: list[Node], n: int) -> Outline:
        """Note names and shapes, and keep no part of the graph."""
        return cls(n, tuple((node.name(), _shapes(node)) for node in nodes))


def operations(outputs: Any, detours: Mapping[Node, Node | None] | None = None) -> list[Node]:
    """All operations behind the outputs, in an order that only depends on how they are connected.

    Args:
        outputs: a nest of tensors.
        detours: the operation that counts as the only one behind another, in place of its own; None for none.
    """
    detours = detours or {}
    tensors = [value for value in tree_leaves(outputs) if isinstance(value, Tensor)]
    waiting, visited, found = [tensor.grad_fn for tensor in tensors], set(), []
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        found.append(node)
        if node in detours:
            waiting.append(detours[node])
        else:
            waiting += [following for following, _ in reversed(node.next_functions)]
    return found


def example_axes(nodes: list[Node], n: int, other: Outline) -> Axes | None:
    """Compare with a pass over another number of examples; None if the operations are not the same.

    An axis belongs to the examples if its length is to the other length as the numbers of examples are. The
    length itself would say nothing: there may be as many positions as examples.
    """
    own = Outline.of(nodes, n)
    if not _alike(own, other):
        return None
    return dict(zip(nodes, _scaling(own, other), strict=True))


def axes_of_few(nodes: list[Node], n: int, one: Outline, other: Outline) -> Axes | None:
    """The axes of the examples in a pass of ``n``, by two passes that differ in nothing but their number.

    The length of another axis may follow the examples, as where padding is cut to the longest text. So the
    passes have the same examples, one of them twice in the second pass. Lengths are compared between
    these two alone. The result is None if the operations are not the same.
    """
    own = Outline.of(nodes, n)
    if not (_alike(one, other) and _alike(own, one)):
        return None
    return {
        node: tuple(
            SEVERAL if axis is not None and axis != SEVERAL and shape[axis] % n else axis
            for axis, shape in zip(axes, shapes, strict=True)
        )
        for node, axes, (_, shapes) in zip(nodes, _scaling(one, other), own.steps, strict=True)
    }


def _alike(one: Outline, other: Outline) -> bool:
    """Whether two passes have the same operations, with as many axes."""
    return [(name, tuple(map(len, shapes))) for name, shapes in one.steps] == [
        (name, tuple(map(len, shapes))) for name, shapes in other.steps
    ]


def _scaling(one: Outline, other: Outline) -> Iterator[tuple[int | None, ...]]:
    """For each operation the axis of each output whose length is in proportion to the examples."""
    for (_, shapes), (_, others) in zip(one.steps, other.steps, strict=True):
        found = (
            [axis for axis, pair in enumerate(zip(*both, strict=True)) if _scales(pair, one.n, other.n)]
            for both in zip(shapes, others, strict=True)
        )
        yield tuple((axes[0] if len(axes) == 1 else SEVERAL) if axes else None for axes in found)


def examples_meet(nodes: list[Node], n: int, other: Outline) -> bool | None:
    """Whether an operation that has lost the examples' axis stands above one that has it.

    A mean over the examples is one. What it adds may be zero for the examples at hand, as in
    ``relu(h.mean(0) - 2)``, and still mix later ones. Its output has the same shape for any number of
    examples. Operations that only choose rows, as for the experts of a mixture, bring no examples together.

    Args:
        nodes: the operations of a pass of ``n`` examples.
        n: the number of these examples.
        other: the outline of a pass of another number.

    Returns:
        None if the other pass had other operations, so that nothing can be compared.
    """
    axes = example_axes(nodes, n, other)
    if axes is None:
        return None
    has = {node: any(axis is not None for axis in own) for node, own in axes.items()}
    return any(
        _shapes(node) == shapes
        and not has[node]
        and _CHOOSES.match(name) is None
        and any(behind is not None and has.get(behind, False) for behind, _ in node.next_functions)
        for node, (name, shapes) in zip(nodes, other.steps, strict=True)
    )


_CHOOSES = re.compile(
    "Index|Gather|Scatter|Sort|Topk|Take|Masked|Select|Slice|Split|Unsafe|Unbind|Narrow|View|Reshape|Alias|Pack"
)


def _scales(lengths: tuple[int, int], n: int, other: int) -> bool:
    return lengths[0] != lengths[1] and lengths[0] * other == lengths[1] * n


def _shapes(node: Any) -> Shapes:
    return tuple(tuple(output.shape) for output in node._input_metadata)
