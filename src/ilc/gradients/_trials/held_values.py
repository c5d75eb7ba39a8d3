"""Values that modules and other objects hold: saved, compared and put back."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_PLAIN = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_HANDLED_ELSEWHERE = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
_LONGEST = 10_000
"""A longer list is data, which no pass writes."""


class SavedValue(NamedTuple):
    """A value as it was: the object itself and, if it is a tensor, a copy and its version."""

    value: Any
    copy: Tensor | None
    version: int

    @classmethod
    def of(cls, value: Any) -> SavedValue:
        """Save a value."""
        if not isinstance(value, Tensor):
            return cls(value, None, 0)
        return cls(value, value.detach().clone(), 0 if value.is_inference() else value._version)

    def is_still(self, value: Any) -> bool:
        """Whether this is the same object without a change, or an equal plain value."""
        if value is self.value:
            return not isinstance(value, Tensor) or value.is_inference() or value._version == self.version
        if isinstance(value, tuple) and isinstance(self.value, tuple) and len(value) == len(self.value):
            return all(
                SavedValue(one, None, 0).is_still(other) for one, other in zip(self.value, value, strict=True)
            )
        return type(value) is type(self.value) and isinstance(value, _PLAIN) and bool(value == self.value)

    def equals(self, other: SavedValue) -> bool:
        """Whether both have the same value. The objects may be different ones."""
        if self.copy is not None and other.copy is not None:
            return nearly_equal(self.copy, other.copy)
        if isinstance(self.value, _PLAIN) or isinstance(other.value, _PLAIN):
            return type(self.value) is type(other.value) and bool(self.value == other.value)
        return type(self.value) is type(other.value)


def nearly_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two passes over the same numbers gave the same numbers, up to rounding. NaN equals NaN.

    What a pass reads from another one may change little, for example behind a normalisation layer. So only
    differences as small as rounding are accepted. On an accelerator sums may have another order.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    relative = 1e-5 if one.is_cuda else 16 * torch.finfo(one.dtype).eps
    values = one.double()[one.isfinite()]
    largest = float(values.abs().max()) if len(values) else 0.0
    return torch.allclose(
        one.double(), other.double(), rtol=relative, atol=relative * largest, equal_nan=True
    )


class Attributes(NamedTuple):
    """Stands for the attributes of a module or of another object."""

    of: Any


class Buffers(NamedTuple):
    """Stands for the buffers of a module, or only for their names."""

    of: nn.Module
    with_values: bool


def items_of(container: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the key and the value of each item; a set's items are keys."""
    if isinstance(container, Attributes):
        attributes = vars(container.of).items()
        yield from (
            (k, v) for k, v in attributes if k not in _HANDLED_ELSEWHERE and not k.startswith("_compiled")
        )
    elif isinstance(container, Buffers):
        there = {key: buffer for key, buffer in container.of._buffers.items() if buffer is not None}
        yield from there.items() if container.with_values else ((key, None) for key in there)
    elif isinstance(container, dict):
        yield from container.items()
    elif isinstance(container, CellType):
        yield "", container.cell_contents
    else:
        yield from (
            ((value, None) for value in container) if isinstance(container, set) else enumerate(container)
        )


def put_back(container: Any, contents: dict[Any, Any]) -> None:
    """Make these the contents of the container."""
    if isinstance(container, Attributes):
        for key in [key for key, _ in items_of(container) if key not in contents]:
            del vars(container.of)[key]
        vars(container.of).update(contents)
    elif isinstance(container, Buffers):
        for key in [key for key, _ in items_of(container) if key not in contents]:
            container.of._buffers[key] = None
        if container.with_values:
            container.of._buffers.update(contents)
    elif isinstance(container, CellType):
        container.cell_contents = contents[""]
    else:
        container.clear()
        if isinstance(container, (dict, set)):
            container.update(contents)
        else:
            container.extend(contents.values())


def containers_in(value: Any) -> Iterator[Any]:
    """The containers inside a value: lists, a user's objects, the variables of a function and so on."""
    if isinstance(value, (dict, list, set, deque)):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from containers_in(part)
    elif isinstance(value, FunctionType):
        if not (value.__module__ or "").startswith("torch"):
            yield from (cell for cell in value.__closure__ or () if _is_filled(cell))
    elif isinstance(value, MethodType):
        yield from containers_in(value.__self__)
    elif not isinstance(value, (nn.Module, Tensor, type)) and hasattr(value, "__dict__"):
        root = type(value).__module__.partition(".")[0]
        if root not in {"torch", "builtins", *sys.stdlib_module_names}:
            yield Attributes(value)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def joined_name(path: str, container: Any, key: Any) -> str:
    """The name of an item, such as ``layer.history[0]``."""
    if isinstance(container, (Attributes, Buffers)):
        return f"{path}{key}" if not path or path.endswith(".") else f"{path}.{key}"
    return path if isinstance(container, (CellType, set)) else f"{path}[{key!r}]"
