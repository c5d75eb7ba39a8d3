"""All that a model remembers outside its parameters and, in training mode, its buffers."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_PLAIN = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_SEEN_ELSEWHERE = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
_DEEPEST = 5
"""How far into lists of lists, objects in hooks and so on."""
_LONGEST = 10_000
"""A longer list is data."""


class _Kept(NamedTuple):
    """A value as it was: the object, and of a tensor a copy and its version."""

    value: Any
    copy: Tensor | None
    version: int

    @classmethod
    def of(cls, value: Any) -> _Kept:
        if not isinstance(value, Tensor):
            return cls(value, None, 0)
        return cls(value, value.detach().clone(), 0 if value.is_inference() else value._version)

    def is_still(self, value: Any) -> bool:
        """Whether this is the same object, unchanged, or an equal plain value."""
        if value is self.value:
            return not isinstance(value, Tensor) or value.is_inference() or value._version == self.version
        if isinstance(value, tuple) and isinstance(self.value, tuple) and len(value) == len(self.value):
            return all(
                _Kept(one, None, 0).is_still(other) for one, other in zip(self.value, value, strict=True)
            )
        return type(value) is type(self.value) and isinstance(value, _PLAIN) and bool(value == self.value)

    def equals(self, other: _Kept) -> bool:
        """Whether both stand for the same value, in different objects perhaps."""
        if self.copy is not None and other.copy is not None:
            return nearly_equal(self.copy, other.copy)
        if isinstance(self.value, _PLAIN) or isinstance(other.value, _PLAIN):
            return type(self.value) is type(other.value) and bool(self.value == other.value)
        return type(self.value) is type(other.value)


class Memory:
    """What the modules of a model hold now, so that changes can be told and taken back.

    Plain attributes, also of a user's objects in them, lists, dictionaries and sets, what hooks close over,
    and in evaluation mode or ``with_buffers`` the buffers; in training mode only which buffers there are.
    """

    def __init__(self, model: nn.Module, with_buffers: bool | None = None) -> None:
        self._model = model
        self._with_buffers = not model.training if with_buffers is None else with_buffers
        self._holders: list[tuple[str, Any, dict[Any, _Kept]]] = []
        self._visited: set[int] = set()
        for name, module in model.named_modules():
            prefix = f"{name}." if name else ""
            self._add(prefix, _Attributes(module), 0)
            self._add(prefix, _Buffers(module, with_values=self._with_buffers), 0)

    def again(self) -> Memory:
        """The same of what there is now."""
        return Memory(self._model, self._with_buffers)

    def changes(self) -> list[str]:
        """The names of what is no longer as it was."""
        found = []
        for path, holder, contents in self._holders:
            now = dict(_items(holder))
            keys = [key for key in {**contents, **now} if key not in now or key not in contents]
            keys += [key for key in now if key in contents and not contents[key].is_still(now[key])]
            found += [_joined(path, holder, key) for key in keys]
        return found

    def restore(self) -> None:
        """Put everything back."""
        for _, holder, contents in self._holders:
            for kept in contents.values():
                if kept.copy is not None and not kept.is_still(kept.value):
                    with torch.no_grad():
                        kept.value.copy_(kept.copy)
            if any(not contents[key].is_still(v) for key, v in _items(holder) if key in contents) or (
                [*contents] != [key for key, _ in _items(holder)]
            ):
                _refill(holder, {key: kept.value for key, kept in contents.items()})

    def values(self) -> dict[str, _Kept]:
        """Everything that is no container, by its name."""
        return {
            _joined(path, holder, key): kept
            for path, holder, contents in self._holders
            for key, kept in contents.items()
            if id(kept.value) not in self._visited
        }

    def _add(self, path: str, holder: Any, depth: int) -> None:
        contents = {key: _Kept.of(value) for key, value in _items(holder)}
        self._holders.append((path, holder, contents))
        for key, kept in contents.items():
            for inner in _holders_in(kept.value):
                identity = id(inner.of) if isinstance(inner, _Attributes) else id(inner)
                if identity not in self._visited and depth < _DEEPEST:
                    self._visited.add(identity)
                    self._add(_joined(path, holder, key), inner, depth + 1)


def differing(one: Memory, other: Memory) -> str | None:
    """The name of the first thing whose value is not the same in both."""
    ours, theirs = one.values(), other.values()
    for name in {**ours, **theirs}:
        if name not in ours or name not in theirs or not ours[name].equals(theirs[name]):
            return name
    return None


def nearly_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two passes over the same numbers gave the same: to the last digits, NaN being equal to NaN.

    What a pass reads of another may change little, behind a norm for one, so rounding alone is let pass.
    On an accelerator sums may come in another order.
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


class _Attributes(NamedTuple):
    """The attributes of a module or another object."""

    of: Any


class _Buffers(NamedTuple):
    """The buffers of a module, or only their names."""

    of: nn.Module
    with_values: bool


def _items(holder: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(holder, _Attributes):
        attributes = vars(holder.of).items()
        yield from (
            (k, v) for k, v in attributes if k not in _SEEN_ELSEWHERE and not k.startswith("_compiled")
        )
    elif isinstance(holder, _Buffers):
        there = {key: buffer for key, buffer in holder.of._buffers.items() if buffer is not None}
        yield from there.items() if holder.with_values else ((key, None) for key in there)
    elif isinstance(holder, dict):
        yield from holder.items()
    elif isinstance(holder, CellType):
        yield "", holder.cell_contents
    else:
        yield from ((value, None) for value in holder) if isinstance(holder, set) else enumerate(holder)


def _refill(holder: Any, contents: dict[Any, Any]) -> None:
    if isinstance(holder, _Attributes):
        for key in [key for key, _ in _items(holder) if key not in contents]:
            del vars(holder.of)[key]
        vars(holder.of).update(contents)
    elif isinstance(holder, _Buffers):
        for key in [key for key, _ in _items(holder) if key not in contents]:
            holder.of._buffers[key] = None
        if holder.with_values:
            holder.of._buffers.update(contents)
    elif isinstance(holder, CellType):
        holder.cell_contents = contents[""]
    else:
        holder.clear()
        if isinstance(holder, (dict, set)):
            holder.update(contents)
        else:
            holder.extend(contents.values())


def _holders_in(value: Any) -> Iterator[Any]:
    """What may change inside a value: a container, a user's object, the variables of a function."""
    if isinstance(value, (dict, list, set, deque)):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _holders_in(part)
    elif isinstance(value, FunctionType):
        if not value.__module__.startswith("torch"):
            yield from (cell for cell in value.__closure__ or () if _is_filled(cell))
    elif isinstance(value, MethodType):
        yield from _holders_in(value.__self__)
    elif not isinstance(value, (nn.Module, Tensor, type)) and hasattr(value, "__dict__"):
        root = type(value).__module__.partition(".")[0]
        if root not in {"torch", "builtins", *sys.stdlib_module_names}:
            yield _Attributes(value)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _joined(path: str, holder: Any, key: Any) -> str:
    if isinstance(holder, (_Attributes, _Buffers)):
        return f"{path}{key}" if not path or path.endswith(".") else f"{path}.{key}"
    return path if isinstance(holder, (CellType, set)) else f"{path}[{key!r}]"
