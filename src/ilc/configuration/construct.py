"""From a config section to the object it describes, with errors a user can read."""

from __future__ import annotations

import difflib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ilc.errors import UserError

# Keys of a section that describe it rather than configure the object.
DESCRIPTIVE = ("_target_", "name")


def construct(section: str, node: DictConfig, *arguments: Any, without: Iterable[str] = ()) -> Any:
    """Call the section's ``_target_`` with its options and the given leading arguments.

    Args:
        section: the section's name, for messages (``aggregator``).
        node: the section, with ``_target_`` and one key per option.
        arguments: positional arguments put before the options.
        without: keys that somebody else reads.

    Raises:
        UserError: an unknown option, one of the wrong type, or one the object refuses.
    """
    target = target_of(node)
    options = {key: value for key, value in options_of(node).items() if key not in without}
    allowed = option_types(target, skip=len(arguments))
    for key, value in options.items():
        if key not in allowed:
            raise UserError(unknown_key(f"{section}.{key}", allowed))
        _check_type(f"{section}.{key}", value, allowed[key])
    try:
        return target(*arguments, **options)
    except UserError:
        raise
    except (TypeError, ValueError) as error:
        raise UserError(f"{section}={node.get('name', node._target_)} cannot be built: {error}") from error


def target_of(node: DictConfig) -> Callable[..., Any]:
    """The class or function that a section's ``_target_`` names.

    Raises:
        UserError: there is no such thing.
    """
    try:
        target: Callable[..., Any] = pkgutil.resolve_name(str(node._target_))
    except Exception as error:
        raise UserError(f"_target_={node.get('_target_')!r} cannot be imported: {error}") from error
    return target


def options_of(node: DictConfig) -> dict[str, Any]:
    """The section's resolved options, without the descriptive keys."""
    resolved = OmegaConf.to_container(node, resolve=True)
    assert isinstance(resolved, dict)
    return {str(key): value for key, value in resolved.items() if key not in DESCRIPTIVE}


def option_types(target: Callable[..., Any], skip: int = 0) -> dict[str, Any]:
    """Names and annotations of the keyword arguments that ``target`` takes after ``skip`` others."""
    parameters = list(inspect.signature(target).parameters)[skip:]
    hints = typing.get_type_hints(target.__init__ if inspect.isclass(target) else target)
    return {name: hints.get(name, Any) for name in parameters}


def unknown_key(key: str, allowed: Iterable[str]) -> str:
    """The message for a key that does not exist, with the nearest one that does."""
    allowed = sorted(str(name) for name in allowed)
    last = key.rsplit(".", 1)[-1]
    close = difflib.get_close_matches(last, allowed, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"unknown key {key!r}.{hint} Known here: {', '.join(allowed) or 'none'}"


def _check_type(key: str, value: Any, annotation: Any) -> None:
    accepted = typing.get_args(annotation) or (annotation,)
    plain = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
    if not set(accepted) <= {*plain, type(None)}:
        return  # Richer types check themselves.
    fits = any(
        (value is None and kind is type(None))
        or (isinstance(value, bool) if kind is bool else False)
        or (kind is float and isinstance(value, (int, float)) and not isinstance(value, bool))
        or (kind is int and isinstance(value, int) and not isinstance(value, bool))
        or (kind is str and isinstance(value, str))
        for kind in accepted
    )
    if not fits:
        expected = " or ".join("null" if kind is type(None) else plain[kind] for kind in accepted)
        raise UserError(f"{key} must be {expected}, got {value!r}")


def check_keys(section: str, found: Mapping[Any, Any], allowed: Iterable[str]) -> None:
    """Raise UserError for the first key of ``found`` that is not allowed."""
    allowed = list(allowed)
    for key in found:
        if key not in allowed:
            raise UserError(unknown_key(f"{section}.{key}" if section else str(key), allowed))
