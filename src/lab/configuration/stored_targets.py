"""Checks which classes and functions a stored config names, because the file may come from another person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.groups import CONF

NAMING = ("_target_", "task")
"""Keys whose value is imported and called."""

NOT_CHOICES = ("cluster", "search", "study", "tuned")
"""Folders of ``conf/`` whose files name no classes: they choose among other files."""


def check_stored_targets(content: Mapping[str, Any], where: str, allow: Iterable[str] = ()) -> None:
    """Check that a stored config names only choices of this project, before anything is imported.

    Args:
        content: the config, as plain values.
        where: the path of the file, for the message.
        allow: packages (``mypackage``) or modules whose classes the config may also name.

    Raises:
        UserError: the config names another class or function.
    """
    packages = [allow] if isinstance(allow, str) else list(allow)
    for key, target in _named(content):
        if isinstance(target, str) and _is_trusted(target, packages):
            continue
        package = str(target).partition(".")[0]
        raise UserError(
            f"{where} names {key}={target!r}, which does not belong to this project (conf/), and loading the "
            "file would run that code. If you trust it, allow its package by name: load_run(..., "
            f"allow=[{package!r}])"
        )


@cache
def own_targets() -> frozenset[str]:
    """The classes and functions that the files in ``conf/`` name."""
    files = [path for path in CONF.rglob("*.yaml") if path.relative_to(CONF).parts[0] not in NOT_CHOICES]
    contents = [OmegaConf.to_container(OmegaConf.load(path)) for path in files]
    return frozenset(str(target) for content in contents for _, target in _named(content))


def _named(content: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The classes and functions that a config names at any depth, each with its dotted key."""
    if isinstance(content, (list, tuple)):
        for number, value in enumerate(content):
            yield from _named(value, f"{prefix}{number}.")
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key in NAMING:
                yield f"{prefix}{key}", value
            yield from _named(value, f"{prefix}{key}.")


def _is_trusted(target: str, packages: list[str]) -> bool:
    return target in own_targets() or any(target.startswith(f"{package}.") for package in packages)
