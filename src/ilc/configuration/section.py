"""A part of the config that describes one object, checked against what makes that object."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ilc.configuration.keys import check_type, unknown_key
from ilc.errors import UserError

DESCRIPTIVE = ("_target_", "name")
"""Keys of a section that describe it rather than configure the object."""


@dataclass(frozen=True)
class Section:
    """What one object is called, what makes it, and with which options.

    Attributes:
        key: of the section (``aggregator``), for messages.
        name: of the choice (``and_mask``).
        target: the class or function that ``_target_`` names.
        options: its keyword arguments.
    """

    key: str
    name: str
    target: Callable[..., Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, key: str, values: Any) -> Section:
        """Read a section of the resolved config.

        Raises:
            UserError: it is no section, or what ``_target_`` names cannot be imported.
        """
        if not isinstance(values, Mapping) or "_target_" not in values:
            raise UserError(
                f"{key} must be a section with a _target_, got {values!r}: choose one of conf/{key}"
            )
        target = imported(values["_target_"])
        options = {str(name): value for name, value in values.items() if name not in DESCRIPTIVE}
        return cls(key, str(values.get("name", values["_target_"])), target, options)

    def without(self, *names: str) -> Section:
        """The same without options that somebody else reads."""
        return replace(self, options={name: v for name, v in self.options.items() if name not in names})

    def offered(self, **values: Any) -> Section:
        """The same with those of the values that the target takes."""
        taken = {name: value for name, value in values.items() if name in option_types(self.target)}
        return replace(self, options={**self.options, **taken})

    def build(self, *arguments: Any) -> Any:
        """Call the target with the given leading arguments and the options.

        Raises:
            UserError: an unknown option, one of the wrong type, or one that the object refuses.
        """
        allowed = option_types(self.target, skip=len(arguments))
        for name, value in self.options.items():
            if name not in allowed:
                raise UserError(unknown_key(f"{self.key}.{name}", allowed))
            check_type(f"{self.key}.{name}", value, allowed[name])
        try:
            return self.target(*arguments, **self.options)
        except UserError:
            raise
        except (TypeError, ValueError) as error:
            raise UserError(f"{self.key}={self.name} cannot be built: {error}") from error


def imported(path: Any) -> Any:
    """The thing that a dotted path names.

    Raises:
        UserError: there is none.
    """
    module, _, name = str(path).rpartition(".")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        raise UserError(f"_target_={path!r} cannot be imported: {error}") from error


def option_types(target: Callable[..., Any], skip: int = 0) -> dict[str, Any]:
    """Names and annotations of the keyword arguments that ``target`` takes after ``skip`` others."""
    parameters = list(inspect.signature(target).parameters)[skip:]
    hints = typing.get_type_hints(target.__init__ if inspect.isclass(target) else target)
    return {name: hints.get(name, Any) for name in parameters}
