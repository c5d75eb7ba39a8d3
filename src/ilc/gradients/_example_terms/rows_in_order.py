"""Operations whose rows lie in the order of the outputs' rows.

A model may sort its examples, by their lengths for example, and put them back at the end. A sum over examples
does not depend on their order. But terms of two uses of one parameter are added example by example, and then
both uses need the same order.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

from ilc.gradients._example_terms.outline import SEVERAL, Axes

_MOVES = re.compile("Index|Gather|Scatter|Sort|Topk|Take|Masked|Roll|Flip|Embedding|Put")
"""Names of operations that may put rows into other places."""


def nodes_in_order(nodes: list[Node], axes: Axes, n: int) -> set[Node]:
    """The operations from which a way leads to the outputs on which no row of an example moves."""
    behind = {following for node in nodes for following, _ in node.next_functions}
    waiting, found = [node for node in nodes if node not in behind], set()
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        waiting += [
            following
            for following, number in node.next_functions
            if following in axes and _stays(node, axes[following][number], _ndim(following, number), n)
        ]
    return found


def _ndim(node: Any, number: int) -> int:
    return len(node._input_metadata[number].shape)


def _stays(node: Any, axis: int | None, ndim: int, n: int) -> bool:
    """Whether examples on this axis of an operand with ``ndim`` axes keep their order in the output."""
    if axis is None:
        return False
    if _MOVES.match(node.name()) is None:
        return True
    if axis == SEVERAL:
        return False
    return axis not in _moved_axes(node, axis, ndim) or _is_range(_index_along(node, axis), n)


def _moved_axes(node: Any, axis: int, ndim: int) -> set[int]:
    """The axes along which an operation moves rows; ``axis`` where that does not show."""
    indices = getattr(node, "_saved_indices", None)
    if isinstance(indices, tuple):
        if any(one is not None and one.dtype == torch.bool for one in indices):
            return {axis}  # A mask of truth values may take several axes.
        return {i for i, one in enumerate(indices) if one is not None}
    if node.name() == "EmbeddingBackward0":
        return {0}
    dims = getattr(node, "_saved_dims", None)
    if dims is None:
        dims = (getattr(node, "_saved_dim", axis),)
    # Some axes are noted without a sign. A roll without axes goes along all of them.
    return {(dim - 2**64 if dim >= 2**63 else dim) % ndim for dim in dims} or {axis}


def _index_along(node: Any, axis: int) -> Tensor | None:
    """What says where rows go along an axis; None if there is no such tensor."""
    found = getattr(node, "_saved_indices", None)
    if isinstance(found, tuple):
        found = found[axis] if axis < len(found) else None
    index: Tensor | None = getattr(node, "_saved_index", None) if found is None else found
    return index


def _is_range(index: Tensor | None, n: int) -> bool:
    """Whether an index is 0, 1, ..., n - 1."""
    if index is None or index.numel() != n or index.dtype == torch.bool:
        return False
    return torch.equal(index.flatten(), torch.arange(n, device=index.device, dtype=index.dtype))
