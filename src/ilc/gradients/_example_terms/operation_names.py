"""What the operations of a pass are called, with the axes along which they work."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from torch.autograd.graph import Node

_AXES = ("_saved_dim", "_saved_dims", "_saved_dim0", "_saved_dim1", "_saved_shifts")
"""What autograd keeps of the axes. Sizes, starts and ends are left out, as they follow the batch."""


def operation_names(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of these operations; the same name means the same operation along the same axes."""
    return tuple(_name(node) for node in nodes)


def _name(node: Any) -> str:
    name: str = node.name()
    kind: Any = type(node)
    kept = [str(getattr(node, axis)) for axis in _kept(kind)]
    return f"{name} {' '.join(kept)}" if kept else name


@cache
def _kept(kind: type) -> list[str]:
    return [axis for axis in _AXES if hasattr(kind, axis)]
