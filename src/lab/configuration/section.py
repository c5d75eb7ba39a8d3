"""A section of the config that describes one object, checked against the class that makes the object."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from ilc.errors import UserError
from lab.configuration.groups import foreign_option
from lab.configuration.keys import check_type, checked_folder_name, unknown_key

DESCRIPTIVE = ("_target_", "name")
"""Keys of a section that are not options of the object."""

REFUSALS = (TypeError, ValueError, ArithmeticError, RuntimeError, AssertionError, MemoryError)
"""Errors with which an object may refuse its options; any other error is a defect of the object."""


@dataclass(frozen=True)
class OptionsIn:
    """Marks an argument of a task whose options stand in the section of another argument.

    ``regularizer: Annotated[Section, OptionsIn("optimizer", Regularizer)]`` receives the options of the
    section ``optimizer`` that belong to ``Regularizer``. The argument ``optimizer`` receives the other
    options.

    Attributes:
        key: the section.
        owner: the class or function whose options they are; its options are its arguments with a default.
    """

    key: str
    owner: Callable[..., Any]


@dataclass(frozen=True)
class Section:
    """The description of one object: its name, the class or function that makes it, and its options.

    Attributes:
        key: the section's key in the config (``aggregator``), for messages.
        name: the name of the choice (``and_mask``).
        target: the class or function that ``_target_`` names.
        options: the keyword arguments of the target.
    """

    key: str
    name: str
    target: Callable[..., Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, key: str, values: Any) -> Section:
        """Read a section of the resolved config.

        Raises:
            UserError: it is not a section, or its ``_target_`` cannot be imported or called.
        """
        if not isinstance(values, Mapping) or "_target_" not in values:
            raise UserError(
                f"{key} must be a section with a _target_, got {values!r}: choose one of conf/{key}"
            )
        target = imported(values["_target_"])
        options = {str(name): value for name, value in values.items() if name not in DESCRIPTIVE}
        return cls(key, name_of_section(key, values), target, options)

    def check(self, *others: Callable[..., Any]) -> None:
        """Check that every option belongs to the target or to one of ``others``, and has the right type.

        Raises:
            UserError: an option is unknown or has the wrong type.
        """
        known = dict(option_types(self.target))
        for other in others:
            known |= _types_with_default(other)
        self._check_options(known)

    def split(self, other: Callable[..., Any]) -> tuple[Section, Section]:
        """Split the section in two: without the options of another object, and with these options alone."""
        its_own = _types_with_default(other)
        taken = {name: value for name, value in self.options.items() if name in its_own}
        rest = {name: value for name, value in self.options.items() if name not in its_own}
        return replace(self, options=rest), replace(self, target=other, options=taken)

    def build(self, *arguments: Any, kinds: tuple[type, ...] = (object,), **offered: Any) -> Any:
        """Call the target with the leading ``arguments`` and the options.

        Args:
            arguments: values that do not come from the config.
            kinds: the result must be an instance of one of these classes.
            offered: values by the name of an argument; the target gets those that it has an argument for.

        Raises:
            UserError: an option is unknown, has the wrong type, is refused by the object, or is also offered;
                or the object is of another kind.
        """
        types = option_types(self.target, skip=len(arguments))
        self._check_options(types)
        taken = {name: value for name, value in offered.items() if name in types}
        for name in taken.keys() & self.options.keys():
            raise UserError(f"{self.key}.{name} always equals the run's own {name}: set {name}=... instead")
        with refusals_explained(f"{self.key}={self.name}"):
            made = self.target(*arguments, **self.options, **taken)
        if not isinstance(made, kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise UserError(
                f"the _target_ of {self.key}={self.name} makes an object of type {type(made).__name__}, but "
                f"this run takes only {expected}: choose another of conf/{self.key}"
            )
        return made

    def _check_options(self, known: Mapping[str, Any]) -> None:
        for name, value in self.options.items():
            if name not in known:
                message = foreign_option(self.key, self.name, name)
                raise UserError(message or unknown_key(f"{self.key}.{name}", known))
            check_type(f"{self.key}.{name}", value, known[name])


@contextmanager
def refusals_explained(what: str) -> Iterator[None]:
    """Turn the error with which an object refuses its options into a message that names the object.

    Args:
        what: the choice that describes the object (``optimizer=adam``).

    Raises:
        UserError: the object refused its options.
    """
    try:
        yield
    except UserError:
        raise
    except REFUSALS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{what} cannot be built: {reason} (HYDRA_FULL_ERROR=1 shows where)") from error


def name_of_section(key: str, values: Mapping[str, Any]) -> str:
    """The name of a section's choice: its ``name``, or otherwise the last part of its ``_target_``.

    Raises:
        UserError: no folder can have this name.
    """
    last = str(values.get("_target_", "")).rpartition(".")[-1]
    return checked_folder_name(f"{key}.name", values.get("name", last))


def imported(path: Any) -> Callable[..., Any]:
    """The class or function that a dotted path names.

    Raises:
        UserError: it cannot be imported, or cannot be called.
    """
    module, _, name = str(path).rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise UserError(f"_target_={path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise UserError(f"_target_={path!r} must name a class or a function, got a {type(found).__name__}")
    return typing.cast("Callable[..., Any]", found)


@cache
def option_types(target: Callable[..., Any], skip: int = 0) -> dict[str, Any]:
    """The names and annotations of the arguments of ``target``, without the first ``skip`` of them."""
    try:
        parameters = list(inspect.signature(target).parameters.values())[skip:]
        hints = typing.get_type_hints(
            target.__init__ if inspect.isclass(target) else target, include_extras=True
        )
    except (TypeError, ValueError, NameError):  # Written in C, or with names that are gone.
        return {}
    # Not *arguments and **options, which name nothing.
    return {
        p.name: hints.get(p.name, Any) for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _types_with_default(target: Callable[..., Any]) -> dict[str, Any]:
    """The names and annotations of the arguments of ``target`` that have a default."""
    parameters = inspect.signature(target).parameters
    return {
        name: kind
        for name, kind in option_types(target).items()
        if parameters[name].default is not inspect.Parameter.empty
    }
