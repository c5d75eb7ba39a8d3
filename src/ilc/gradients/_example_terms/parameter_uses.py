"""Where parameters meet the examples in the graph of a pass, whichever module or function computes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.graph import GradientEdge, Node

from ilc.gradients._example_terms.outline import SEVERAL, Axes
from ilc.gradients._example_terms.rows_in_order import nodes_in_order


class Use(NamedTuple):
    """An operation between examples and a tensor that is made of parameters only.

    Attributes:
        node: the operation.
        operand: which of its operands that tensor is.
        made_by: the edge of the graph at which that tensor is made; it may be the parameter itself.
        axes: the axis of the examples in each output of the operation.
        outer: how often that axis runs through all examples: time steps, if they come first.
        bottom: whether no other operand needs a gradient, so that a backward pass need not go further.
    """

    node: Node
    operand: int
    made_by: GradientEdge
    axes: tuple[int, ...]
    outer: int
    bottom: bool

    @property
    def kind(self) -> tuple[str, int]:
        """What autograd calls the operation, and the operand."""
        return self.node.name(), self.operand

    @property
    def axis(self) -> int:
        """The axis of the examples in the first output."""
        return self.axes[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that is made of parameters."""
        return tuple(self._made.shape)

    @property
    def dtype(self) -> torch.dtype:
        """Its type."""
        found: torch.dtype = self._made.dtype
        return found

    @property
    def _made(self) -> Any:
        node: Any = self.made_by.node
        return node._input_metadata[self.made_by.output_nr]


def uses_of(
    nodes: list[Node], axes: Axes, parameters: dict[str, nn.Parameter], n: int
) -> tuple[dict[str, list[Use]], set[str]]:
    """All uses of each of these parameters, and those of which a use cannot be followed.

    There are no uses of a parameter that the outputs do not depend on. Several uses cannot be followed if
    one may have the examples in another order.
    """
    names = {id(p): name for name, p in parameters.items()}
    below: dict[Node, frozenset[str]] = {}
    for node in _leaves_first(nodes, axes):
        own = names.get(id(getattr(node, "variable", None)))
        found = {own} if own is not None else set()
        for following, _ in node.next_functions:
            if following is not None and not _has_examples(following, axes):
                found |= below[following]
        below[node] = frozenset(found)
    uses: dict[str, list[Use]] = {name: [] for name in parameters}
    lost: set[str] = set()
    views = _views(nodes)
    for node in nodes:
        if not _has_examples(node, axes):
            continue
        bottom = all(f is None or not _has_examples(f, axes) for f, _ in node.next_functions)
        known = tuple(axis for axis in axes[node] if axis is not None)
        outer = None if SEVERAL in known else _outer(node, known[0], views, axes, n)
        for operand, (following, number) in enumerate(node.next_functions):
            if following is None or _has_examples(following, axes):
                continue
            if outer is None or len(known) < len(axes[node]):
                lost |= below[following]
                continue
            edge = GradientEdge(following, number)
            for name in below[following]:
                uses[name].append(Use(node, operand, edge, known, outer, bottom))
    users = {name: {use.node for use in every} for name, every in uses.items()}
    several = {name: of_one for name, of_one in users.items() if len(of_one) > 1}
    if several:
        in_order = nodes_in_order(nodes, axes, n)
        lost |= {name for name, of_one in several.items() if not of_one <= in_order}
    return uses, lost


def _has_examples(node: Node, axes: Axes) -> bool:
    return any(axis is not None for axis in axes[node])


def _leaves_first(nodes: list[Node], axes: Axes) -> list[Node]:
    """The operations without examples, each after those that it depends on."""
    done: dict[Node, None] = {}
    for root in nodes:
        waiting = [] if _has_examples(root, axes) else [root]
        while waiting:
            node = waiting[-1]
            missing = [
                f for f, _ in node.next_functions if f and f not in done and not _has_examples(f, axes)
            ]
            waiting += missing
            if not missing:
                done[waiting.pop()] = None
    return list(done)


def _views(nodes: list[Node]) -> dict[Node, Node]:
    """For each operation whose output is looked at in another shape, the operation that does so."""
    kinds = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")
    return {
        node.next_functions[0][0]: node
        for node in nodes
        if node.name() in kinds and node.next_functions[0][0] is not None
    }


def _outer(node: Any, axis: int, views: dict[Node, Node], axes: Axes, n: int) -> int | None:
    """How often an axis runs through all ``n`` examples; None if that does not show.

    An axis that a matrix product has joined is looked at as several axes again.
    """
    if node._input_metadata[0].shape[axis] == n:
        return 1
    view: Any = views.get(node)
    if axis != 0 or view is None or axes[view][0] in (None, SEVERAL):
        return None
    shape = view._input_metadata[0].shape
    return int(torch.Size(shape[: axes[view][0]]).numel()) if shape[axes[view][0]] == n else None
