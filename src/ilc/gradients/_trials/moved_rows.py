"""Operations that can carry the row of one example to another one, by their names and axes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node

from ilc.gradients._example_terms.outline import SEVERAL, Axes

_MOVES = re.compile("Index|Gather|Scatter|Sort|Topk|Take|MaskedSelect|Roll")
"""Names of operations that put rows where numbers of the batch say."""

_ALONG_OTHERS = re.compile("Permute|Transpose|Cat|Stack|Unsqueeze|Squeeze|Slice|Expand|Repeat")
"""Names of operations that have an axis and bring nothing together along it. A slice shows by its length."""

_WINDOWS = re.compile("Convolution|.*Pool|Unfold|Im2Col|Col2Im|AsStrided")
"""Names of operations that look at neighbours along all axes but the first."""


def moves_rows(node: Any) -> bool:
    """Whether an operation can move rows by its name; one that a user wrote can do anything."""
    return isinstance(node, BackwardCFunction) or _MOVES.match(node.name()) is not None


def moves_along_examples(nodes: list[Node], axes: Axes) -> bool:
    """Whether an operation works along the axis of the examples, such as a shift, a flip or a running sum.

    What it adds may be zero for the examples at hand, as ``relu(h[:-1] - 0.9)`` is for small numbers.
    """
    return any(
        _along(node, axis, tuple(behind._input_metadata[number].shape), axes)
        for node in nodes
        for behind, number in node.next_functions
        if behind is not None and behind in axes and (axis := axes[behind][number]) is not None
    )


def _along(node: Any, axis: int, shape: tuple[int, ...], axes: Axes) -> bool:
    """Whether an operation on a tensor of this shape, with the examples on this axis, works along it."""
    if axis == SEVERAL:
        return True
    name = node.name()
    if _WINDOWS.match(name) and axis > 0:
        return True
    lost = all(own is None for own in axes[node])
    for output in node._input_metadata:
        if lost and len(output.shape) == len(shape) and output.shape[axis] != shape[axis]:
            return True
    if _ALONG_OTHERS.match(name):
        return False
    return any(dim % max(len(shape), 1) == axis for dim in _dims(node))


def _dims(node: Any) -> Iterable[int]:
    """The axes that an operation has noted for its backward pass."""
    for key in ("_saved_dim", "_saved_dims", "_saved_dimension"):
        found = getattr(node, key, None)
        for dim in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(dim, int):
                yield dim - 2**64 if dim >= 2**63 else dim  # Some are noted without a sign.
