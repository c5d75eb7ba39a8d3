"""The containers inside a value, whatever it is."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterator
from functools import partial
from threading import Thread
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import Dataset

from ilc.gradients._trials.containers import Attributes, Buffers, Closure, Globals, Parameters

_NOT_A_USERS = {"torch", "builtins", *sys.stdlib_module_names}
_NOT_A_PROGRAMS = {*_NOT_A_USERS, "ilc"}
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_LONGEST = 10_000
"""A longer list is data, which no pass writes."""


def containers_in(value: Any, with_globals: bool = False) -> Iterator[tuple[str, Any]]:
    """The containers inside a value: lists, a user's objects, the variables of a function and so on.

    Each comes with what its name adds to the value's, such as ``.layer`` for a part of a module.

    Args:
        value: what an attribute, a list or a variable holds.
        with_globals: whether the global variables that functions name belong to them.
    """
    if isinstance(value, (dict, list, set, deque, tuple)):
        if len(value) <= _LONGEST:
            yield "", value
    elif isinstance(value, FunctionType):
        if not (value.__module__ or "").startswith("torch"):
            yield from _of_function(value, with_globals)
    elif isinstance(value, MethodType):
        yield from containers_in(value.__self__, with_globals)
        yield from containers_in(value.__func__, with_globals)
    elif isinstance(value, partial):
        for part in (value.func, value.args, value.keywords):
            yield from containers_in(part, with_globals)
    elif isinstance(value, nn.Module):
        for name, module in value.named_modules():
            suffix = f".{name}" if name else ""
            yield suffix, Attributes(module)
            yield suffix, Buffers(module, with_values=True)
            yield suffix, Parameters(module, all_of_them=True)
    elif _is_a_users(value):
        yield "", Attributes(value)


def _of_function(function: FunctionType, with_globals: bool) -> Iterator[tuple[str, Any]]:
    yield "", vars(function)
    yield "", Closure(function)
    yield from containers_in(function.__defaults__ or (), with_globals)
    if function.__kwdefaults__:
        yield "", function.__kwdefaults__
    if with_globals and is_of_a_program(function):
        yield "", Globals(function)


def is_of_a_program(function: FunctionType) -> bool:
    """Whether a function belongs to a user's program and not to an installed library.

    Libraries keep caches in global variables, which nobody else should put back.
    """
    root = (function.__module__ or "").partition(".")[0]
    return root not in _NOT_A_PROGRAMS and not _INSTALLED.search(function.__code__.co_filename)


def classes_of(kind: type) -> list[type]:
    """A class and its bases, without those of PyTorch and of Python itself."""
    return [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in _NOT_A_PROGRAMS]


def methods_of(kind: type) -> Iterator[FunctionType]:
    """The functions of a class of the user's and of its bases, also behind decorators and properties."""
    for base in classes_of(kind):
        for value in list(vars(base).values()):
            inner = getattr(value, "fget" if isinstance(value, property) else "__func__", value)
            while isinstance(inner, FunctionType):
                yield inner
                inner = getattr(inner, "__wrapped__", None)


def is_plainly_held(value: Any) -> bool:
    """Whether a value is no object by which programs mostly note things, such as a namespace or a timer."""
    if isinstance(value, (SimpleNamespace, Namespace, nn.Module)):
        return False
    return not _is_a_users(value) or hasattr(value, "__dict__")


def _is_a_users(value: Any) -> bool:
    """Whether a value is an object whose attributes a user chose."""
    if isinstance(value, (SimpleNamespace, Namespace)):
        return True
    if isinstance(value, (Tensor, type, ModuleType, Optimizer, Dataset, Thread)):
        return False
    kind = type(value)
    has_attributes = hasattr(value, "__dict__") or any("__slots__" in vars(base) for base in kind.__mro__)
    return has_attributes and kind.__module__.partition(".")[0] not in _NOT_A_USERS
