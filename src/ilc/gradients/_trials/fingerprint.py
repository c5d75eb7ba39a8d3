"""One value that changes when the model or the loss changes, cheap enough to compute at each step."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import deque
from dataclasses import fields, is_dataclass
from functools import partial
from numbers import Number
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

_PLAIN = frozenset({bool, int, float, str, type(None)})
_FLAGS = frozenset({bool, str, type(None)})
_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_HOOKS = tuple(key for key in _OF_EVERY_MODULE if key.endswith("_hooks") and "state_dict" not in key)
_GLOBAL_HOOKS = [
    hooks
    for name, hooks in vars(torch_modules).items()
    if name.startswith("_global_") and isinstance(hooks, dict)
]
_LONGEST = 32
"""A longer container is data or a history. It is no switch."""
_MOST_OPTIONS = 256
"""A namespace or a dataclass of more is looked at only so far."""
_DEEPEST = 3


def fingerprint(*roots: Any) -> tuple[Any, ...]:
    """A hashable value that changes when the model or the loss changes.

    It covers the modules with their modes, hooks, plain attributes and parameters, which parameters are
    trainable, and the contents of a user's objects, dictionaries and functions. It does not cover the values
    of tensors. So a training step does not change it, although parameters move and features are stored.
    """
    found: list[Any] = [tuple(hooks) for hooks in _GLOBAL_HOOKS if hooks]
    visited: set[int] = set()
    for root in roots:
        _add(root, found, visited, 0)
    return tuple(found)


def _add(  # noqa: PLR0912
    value: Any, found: list[Any], visited: set[int], depth: int
) -> None:
    kind = type(value)
    if kind in _PLAIN:
        found.append(str(value) if kind is float else value)  # As text, because NaN does not equal itself.
        return
    if isinstance(value, Tensor):
        found.append((value.requires_grad, value.dtype, value.device))
        return
    found.append(kind)
    if isinstance(value, Number):
        found.append(str(value))
        return
    if kind.__module__ == "numpy" and getattr(value, "size", _LONGEST + 1) <= _LONGEST:
        found.append(value.tobytes())
        return
    if id(value) in visited or depth > _DEEPEST:
        return
    visited.add(id(value))
    if isinstance(value, nn.Module):
        _add_module(value, found, visited)
    elif isinstance(value, dict):
        _add_items(value, found, visited, depth)
    elif isinstance(value, (list, tuple, deque, set)):
        if len(value) <= _LONGEST:
            for one in value:
                _add(one, found, visited, depth + 1)
    elif isinstance(value, FunctionType):
        found.append(value.__code__)
        for cell in value.__closure__ or ():
            try:
                _add(cell.cell_contents, found, visited, depth + 1)
            except ValueError:  # Not filled yet.
                found.append(None)
        _add(value.__defaults__, found, visited, depth + 1)
    elif isinstance(value, MethodType):
        _add(value.__func__, found, visited, depth + 1)
        _add(value.__self__, found, visited, depth + 1)
    elif isinstance(value, partial):
        for one in (value.func, *value.args, *value.keywords.values()):
            _add(one, found, visited, depth + 1)
    elif isinstance(value, (SimpleNamespace, Namespace)) or (is_dataclass(value) and kind is not type):
        for key, one in list(_options_of(value).items())[:_MOST_OPTIONS]:
            found.append(key)
            _add(one, found, visited, depth + 1)
    elif isinstance(value, type) or not hasattr(value, "__dict__"):
        found.append(value if isinstance(value, type) else None)
    elif type(value).__module__.partition(".")[0] not in _OTHERS:
        # Numbers in objects beside the model are mostly counters, for example of a trainer.
        for key, one in list(vars(value).items())[:_LONGEST]:
            if type(one) in _FLAGS:
                found += (key, one)


def _options_of(value: Any) -> dict[str, Any]:
    """The attributes of a namespace or a dataclass."""
    if hasattr(value, "__dict__"):
        return dict(vars(value))
    return {one.name: getattr(value, one.name) for one in fields(value)}


_OTHERS = frozenset({"torch", "builtins", "numpy", *sys.stdlib_module_names})
"""Packages whose other objects hold no flag of a user."""


def _add_items(items: dict[Any, Any], found: list[Any], visited: set[int], depth: int) -> None:
    if len(items) <= _LONGEST:
        for key, one in items.items():
            found.append(key if type(key) in _PLAIN else type(key))
            _add(one, found, visited, depth + 1)


def _add_module(module: nn.Module, found: list[Any], visited: set[int]) -> None:
    attributes = vars(module)
    found.append(id(module))
    for key, value in attributes.items():
        kind = type(value)
        if kind in _PLAIN:
            found.append(str(value) if kind is float else value)
        elif key not in _OF_EVERY_MODULE:
            found.append(key)
            _add(value, found, visited, 0)
    for key in _HOOKS:
        for number, hook in attributes[key].items() if attributes.get(key) else ():
            found.append(number)
            _add(hook, found, visited, 0)
    for key, p in module._parameters.items():
        if p is not None:
            hooks = p._backward_hooks, p._post_accumulate_grad_hooks
            found += (key, id(p), p.requires_grad, p.dtype)
            found += (tuple(each) for each in hooks if each)
    for key, buffer in module._buffers.items():
        found += (key, buffer is None)
    for key, child in module._modules.items():
        if child is not None:
            found.append(key)
            _add(child, found, visited, 0)
