"""The containers in which modules, losses and other objects hold values: read and filled again."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
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
"""Attributes that are looked at in another way, and hooks of checkpoints, which FSDP2 adds in a pass."""


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


def items_of(container: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the key and the value of each item; a set's items are keys."""
    if isinstance(container, Attributes):
        yield from (
            (key, value)
            for key, value in _attributes(container.of)
            if key not in _NO_STATE and not key.startswith("_compiled")
        )
    elif isinstance(container, Buffers):
        there = {key: buffer for key, buffer in container.of._buffers.items() if buffer is not None}
        yield from there.items() if container.with_values else ((key, None) for key in there)
    elif isinstance(container, Parameters):
        # Embeddings with a largest norm shorten the rows that they look up. Doing so twice changes nothing.
        if getattr(container.of, "max_norm", None) is None:
            for key, p in container.of._parameters.items():
                if p is not None and (container.all_of_them or not p.requires_grad):
                    yield key, p
    elif isinstance(container, dict):
        yield from container.items()
    elif isinstance(container, Closure):
        for name, cell in zip(container.of.__code__.co_freevars, container.of.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # Not filled yet.
                continue
    elif isinstance(container, Globals):
        there, names = _globals_of(container), sorted(_global_names(container.of.__code__))
        yield from ((name, there[name]) for name in names if name in there)
    else:
        yield from (
            ((value, None) for value in container) if isinstance(container, set) else enumerate(container)
        )


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
        for name, cell in zip(container.of.__code__.co_freevars, container.of.__closure__ or (), strict=True):
            if name in contents:
                cell.cell_contents = contents[name]
    elif isinstance(container, Globals):
        _globals_of(container).update(contents)
    else:
        container.clear()
        if isinstance(container, (dict, set)):
            container.update(contents)
        else:
            container.extend(contents.values())


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
    return kind, id(container.of if isinstance(container, _STANDS_FOR) else container)


def joined_name(path: str, container: Any, key: Any) -> str:
    """The name of an item, such as ``layer.history[0]``."""
    if isinstance(container, Globals):
        return f"the global variable {key}"
    if isinstance(container, _STANDS_FOR):
        return f"{path}{key}" if not path or path.endswith(".") else f"{path}.{key}"
    return path if isinstance(container, set) else f"{path}[{key!r}]"


_STANDS_FOR = (Attributes, Buffers, Parameters, Closure, Globals)


def _attributes(of: Any) -> Iterator[tuple[str, Any]]:
    yield from vars(of).items() if hasattr(of, "__dict__") else ()
    if isinstance(of, nn.Module):
        return
    for base in type(of).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            key = f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name
            if name not in ("__dict__", "__weakref__") and hasattr(of, key):
                yield key, getattr(of, key)


def _globals_of(container: Globals) -> dict[str, Any]:
    function: FunctionType = container.of
    return function.__globals__


def _global_names(code: CodeType) -> set[str]:
    """The names that code and the functions inside it look up outside of themselves."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_global_names, inner))
