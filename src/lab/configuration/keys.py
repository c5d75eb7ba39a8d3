"""Checks and messages for keys and plain values of the config."""

from __future__ import annotations

import difflib
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ilc.errors import UserError

_IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "a word",
    type(None): "null",
}


def unknown_key(key: str, allowed: Iterable[str]) -> str:
    """The message for a key that does not exist, with the most similar key that exists."""
    allowed = sorted(str(name) for name in allowed)
    last = key.rsplit(".", 1)[-1]
    close = difflib.get_close_matches(last, allowed, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"unknown key {key!r}.{hint} Known keys: {', '.join(allowed) or 'none'}"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that nothing of this kind has, with the most similar name that exists."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? Choose" if close else "choose"
    return f"no {kind} is called {name!r}: {hint} one of {', '.join(sorted(known)) or 'none'}"


def check_keys(section: str, found: Mapping[Any, Any], allowed: Iterable[str]) -> None:
    """Raise UserError for the first key of ``found`` that is not allowed."""
    allowed = list(allowed)
    for key in found:
        if key not in allowed:
            raise UserError(unknown_key(f"{section}.{key}" if section else str(key), allowed))


def checked_folder_name(key: str, value: Any) -> str:
    """Check a name that becomes a part of the path of a run folder, and return it.

    Raises:
        UserError: the value is not a name, or it would lead to another folder.
    """
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.+-]{0,99}", value):
        raise UserError(
            f"{key} must be a word of letters, digits, '_', '-', '+' and '.', because it is part of the run "
            f"folder's path, got {value!r}"
        )
    return value


def check_type(key: str, value: Any, annotation: Any) -> None:
    """Check that a value of the config has the annotated type.

    A config holds plain values only. For ``float | Tensor`` the value must therefore be a number. If no
    value of the annotated type can stand in a config, nothing is checked here.

    Raises:
        UserError: the value has another type.
    """
    if _expected(annotation) and not _fits(value, annotation):
        raise UserError(f"{key} must be {' or '.join(_expected(annotation))}, got {value!r}")


def _expected(annotation: Any) -> list[str]:
    """The alternatives of a type that a config can hold, in words."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        # dict.fromkeys removes repetitions.
        return list(dict.fromkeys(words for part in arguments for words in _expected(part)))
    if origin is typing.Literal:
        return [f"one of {', '.join(map(str, arguments))}"]
    if origin is tuple and Ellipsis not in arguments:
        parts = [" or ".join(_expected(part)) for part in arguments]
        return [f"a list of {len(parts)}: {', '.join(parts)}"] if all(parts) else []
    if origin in (tuple, list, Sequence):
        parts = _expected(arguments[0]) if arguments else []
        return [f"a list, each of it {' or '.join(parts)}"] if parts else []
    if origin in (dict, Mapping):
        return ["a section {KEY: VALUE}"]
    return [_IN_WORDS[annotation]] if annotation in _IN_WORDS else []


def _fits(value: Any, annotation: Any) -> bool:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin in (tuple, list, Sequence):
        return isinstance(value, (list, tuple)) and _all_fit(value, origin, arguments)
    if isinstance(value, bool):  # For Python, True and False are whole numbers.
        return annotation is bool
    if annotation is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    kind = Mapping if origin in (dict, Mapping) else annotation
    return kind in (*_IN_WORDS, Mapping) and isinstance(value, kind)


def _all_fit(values: Sequence[Any], origin: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether each value has the type of its position in a tuple, or the type of all items of a list."""
    kinds = arguments if origin is tuple and Ellipsis not in arguments else arguments[:1] * len(values)
    return len(values) == len(kinds) and all(map(_fits, values, kinds))
