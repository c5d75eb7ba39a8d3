"""Keys and plain values of the config: the checks and messages that everybody shares."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from ilc.errors import UserError

_IN_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def unknown_key(key: str, allowed: Iterable[str]) -> str:
    """The message for a key that does not exist, with the nearest one that does."""
    allowed = sorted(str(name) for name in allowed)
    last = key.rsplit(".", 1)[-1]
    close = difflib.get_close_matches(last, allowed, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"unknown key {key!r}.{hint} Known here: {', '.join(allowed) or 'none'}"


def check_keys(section: str, found: Mapping[Any, Any], allowed: Iterable[str]) -> None:
    """Raise UserError for the first key of ``found`` that is not allowed."""
    allowed = list(allowed)
    for key in found:
        if key not in allowed:
            raise UserError(unknown_key(f"{section}.{key}" if section else str(key), allowed))


def check_type(key: str, value: Any, annotation: Any) -> None:
    """Raise UserError unless a plain value is of the annotated type; richer types check themselves."""
    accepted = typing.get_args(annotation) or (annotation,)
    if not set(accepted) <= {*_IN_WORDS, type(None)}:
        return
    if not any(_fits(value, kind) for kind in accepted):
        expected = " or ".join("null" if kind is type(None) else _IN_WORDS[kind] for kind in accepted)
        raise UserError(f"{key} must be {expected}, got {value!r}")


def _fits(value: Any, kind: Any) -> bool:
    if kind is type(None):
        return value is None
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
