"""The containers in which modules, losses and other objects hold values: read and filled again."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from torch import nn

_OF_EVERY_MODULE = vars(nn.Module())
_NO_STATE = {
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
    *(key for key in _OF_EVERY_MODULE if "state_dict" in key),
}
"""Attributes of modules that are looked at in another way, and hooks of checkpoints.

FSDP2 adds such hooks in its first pass, and nobody may take them away.
"""

Path = Any
"""A name, or what it is made of when somebody asks: a path and a suffix, or a path, a container and a key."""


class Attributes(NamedTuple):
    """Stands for the attributes of a module or of another object, also for those in slots."""

    of: Any


class Buffers(NamedTuple):
    """Stands for the buffers of a module, or only for their names."""

    of: nn.Module
    with_values: bool


class Parameters(NamedTuple):
    """Stands for those parameters of a module that no pass should write."""

    of: nn.Module
    all_of_them: bool
    """Whether this includes trainable parameters, since the module does not belong to the model."""


class Closure(NamedTuple):
    """Stands for the variables that a function closes over."""

    of: Any


class Globals(NamedTuple):
    """Stands for the global variables that a function names."""

    of: Any


class ClassVariables(NamedTuple):
    """Stands for the variables of a class, which all its objects share."""

    of: type


def items_of(container: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the key and the value of each item; a set's items are keys."""
    if type(container) in _READ:
        yield from _READ[type(container)](container)
    elif isinstance(container, dict):
        yield from [(key, container[key]) for key in _as_it_is(container) if key in container]
    elif isinstance(container, set):
        yield from ((value, None) for value in _as_it_is(container))
    else:
        yield from enumerate(_as_it_is(container))


def _as_it_is(container: Any) -> list[Any]:
    """The items, or none if another thread is filling the container."""
    try:
        return list(container)
    except RuntimeError:
        return []


def put_back(container: Any, contents: dict[Any, Any]) -> None:
    """Make these the contents of the container."""
    if isinstance(container, Attributes):
        _put_attributes_back(container.of, contents)
    elif isinstance(container, Buffers):
        for key in [key for key, _ in items_of(container) if key not in contents]:
            container.of._buffers[key] = None
        if container.with_values:
            container.of._buffers.update(contents)
    elif isinstance(container, Closure):
        for name, cell in _cells(container):
            if name in contents:
                cell.cell_contents = contents[name]
    elif isinstance(container, Globals):
        container.of.__globals__.update(contents)
    elif isinstance(container, ClassVariables):
        for key, value in contents.items():
            if vars(container.of).get(key) is not value:
                setattr(container.of, key, value)
    elif not isinstance(container, tuple):  # Its tensors are put back, and it cannot change otherwise.
        _put_items_back(container, contents)


def _put_items_back(container: Any, contents: dict[Any, Any]) -> None:
    """Fill a dictionary, set, list or deque. One that refuses, as some frozen kinds do, stays as it is."""
    try:
        if isinstance(container, dict):
            for key in [key for key in container if key not in contents]:
                del container[key]
            container.update(contents)
            if [*container] != [*contents]:
                container.clear()
                container.update(contents)
        elif isinstance(container, set):
            container.clear()
            container.update(contents)
        else:
            container.clear()
            container.extend(contents.values())
    except Exception:
        return


def _put_attributes_back(of: Any, contents: dict[str, Any]) -> None:
    for key in [key for key, _ in items_of(Attributes(of)) if key not in contents]:
        object.__delattr__(of, key)
    for key, value in contents.items():
        if hasattr(of, "__dict__") and key in vars(of):
            vars(of)[key] = value
        else:  # A frozen dataclass refuses its own way.
            object.__setattr__(of, key, value)


def identity(container: Any) -> tuple[str, int]:
    """What tells a container from every other one while both exist."""
    kind = type(container).__name__
    stands_for: Any = container
    return kind, id(stands_for.of if type(container) in _READ else container)


def name_of(path: Path) -> str:
    """The name that a path stands for."""
    if isinstance(path, str):
        return path
    before = name_of(path[0])
    return f"{before}{path[1]}" if len(path) == 2 else joined_name(before, path[1], path[2])


def joined_name(path: str, container: Any, key: Any) -> str:
    """The name of an item, such as ``layer.history[0]``."""
    if isinstance(container, Globals):
        return f"the global variable {key}"
    if type(container) in _READ:
        return f"{path}{key}" if not path or path.endswith(".") else f"{path}.{key}"
    return path if isinstance(container, set) else f"{path}[{key!r}]"


def _attributes(container: Attributes) -> Iterator[tuple[str, Any]]:
    of = container.of
    if isinstance(of, nn.Module):
        there = list(vars(of).items())
        yield from (
            (key, value) for key, value in there if key not in _NO_STATE and not key.startswith("_compiled")
        )
        return
    yield from list(vars(of).items()) if hasattr(of, "__dict__") else ()
    for base in type(of).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            key = f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name
            if name not in ("__dict__", "__weakref__") and hasattr(of, key):
                yield key, getattr(of, key)


def _buffers(container: Buffers) -> Iterator[tuple[str, Any]]:
    there = {key: buffer for key, buffer in container.of._buffers.items() if buffer is not None}
    yield from there.items() if container.with_values else ((key, None) for key in there)


def _parameters(container: Parameters) -> Iterator[tuple[str, Any]]:
    # Embeddings with a largest norm shorten the rows that they look up. Doing so twice changes nothing.
    if getattr(container.of, "max_norm", None) is None:
        for key, p in container.of._parameters.items():
            if p is not None and (container.all_of_them or not p.requires_grad):
                yield key, p


def _cells(container: Closure) -> Iterator[tuple[str, CellType]]:
    return zip(container.of.__code__.co_freevars, container.of.__closure__ or (), strict=True)


def _closed_over(container: Closure) -> Iterator[tuple[str, Any]]:
    for name, cell in _cells(container):
        try:
            yield name, cell.cell_contents
        except ValueError:  # Not filled yet.
            continue


def _global_variables(container: Globals) -> Iterator[tuple[str, Any]]:
    there, names = container.of.__globals__, _global_names(container.of.__code__)
    yield from ((name, there[name]) for name in names if name in there)


def _class_variables(container: ClassVariables) -> Iterator[tuple[str, Any]]:
    for key, value in list(vars(container.of).items()):
        if not key.startswith("__") and not isinstance(value, _NO_VARIABLES):
            yield key, value


_READ: dict[type, Callable[[Any], Iterator[tuple[str, Any]]]] = {
    Attributes: _attributes,
    Buffers: _buffers,
    Parameters: _parameters,
    Closure: _closed_over,
    Globals: _global_variables,
    ClassVariables: _class_variables,
}
_NO_VARIABLES = (FunctionType, staticmethod, classmethod, property, type)


@lru_cache(maxsize=4096)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """The names of global variables that code and the functions inside it use."""
    own = {one.argval for one in dis.get_instructions(code) if one.opname.endswith("_GLOBAL")}
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(sorted(own.union(*map(_global_names, inner))))
