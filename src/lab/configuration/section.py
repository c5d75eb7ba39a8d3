"""A part of the config that describes one object, checked against what makes that object."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from ilc.errors import UserError
from lab.configuration.keys import check_type, fitting_name, unknown_key

T = TypeVar("T")

DESCRIPTIVE = ("_target_", "name")
"""Keys of a section that describe it rather than configure the object."""

REFUSALS = (TypeError, ValueError, ArithmeticError, RuntimeError, AssertionError, MemoryError)
"""With what an object may refuse its options; anything else is a defect of its own."""


@dataclass(frozen=True)
class Section:
    """What one object is called, what makes it, and with which options.

    Some options may belong to a second object, such as the sampler's in a dataset's section. The task's
    argument is then annotated ``Annotated[Section, Sampler]``, and ``part`` and ``without`` tell them apart.

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
            UserError: it is no section, or what ``_target_`` names cannot be imported or called.
        """
        if not isinstance(values, Mapping) or "_target_" not in values:
            raise UserError(
                f"{key} must be a section with a _target_, got {values!r}: choose one of conf/{key}"
            )
        target = imported(values["_target_"])
        options = {str(name): value for name, value in values.items() if name not in DESCRIPTIVE}
        return cls(key, name_of_section(key, values), target, options)

    def offered(self, **values: Any) -> Section:
        """The same with those of the values that the target takes.

        Raises:
            UserError: the section sets one of them itself.
        """
        taken = {name: value for name, value in values.items() if name in option_types(self.target)}
        for name in taken.keys() & self.options.keys():
            raise UserError(f"{self.key}.{name} follows the run's own {name}: set {name}=... instead")
        return replace(self, options={**self.options, **taken})

    def check(self, *others: Callable[..., Any]) -> None:
        """Whether every option is known to the target or to one of the others, and of its type.

        Raises:
            UserError: one is not.
        """
        known: dict[str, Any] = {}
        for owner in (self.target, *others):
            known |= option_types(owner)
        self._check_options(known)

    def part(self, other: Callable[..., T], *arguments: Any) -> T:
        """Make another object of those options that are its own, as ``build`` does."""
        own = option_types(other, skip=len(arguments))
        options = {name: value for name, value in self.options.items() if name in own}
        made: T = replace(self, target=other, options=options).build(*arguments)
        return made

    def without(self, other: Callable[..., Any]) -> Section:
        """The same without those options that are another object's."""
        own = option_types(other)
        return replace(self, options={name: v for name, v in self.options.items() if name not in own})

    def build(self, *arguments: Any, kinds: tuple[type, ...] = (object,)) -> Any:
        """Call the target with the given leading arguments and the options.

        Args:
            arguments: what is not of the config.
            kinds: one of which the result must be.

        Raises:
            UserError: an unknown option, one of the wrong type, one that the object refuses, or an object
                of another kind.
        """
        self._check_options(option_types(self.target, skip=len(arguments)))
        try:
            made = self.target(*arguments, **self.options)
        except UserError:
            raise
        except REFUSALS as error:
            what = " ".join(str(error).split())
            raise UserError(
                f"{self.key}={self.name} cannot be built: {what or type(error).__name__} "
                "(HYDRA_FULL_ERROR=1 shows where)"
            ) from error
        if not isinstance(made, kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise UserError(
                f"{self.key}._target_ must make a {expected}, got a {type(made).__name__}: choose one of "
                f"conf/{self.key}"
            )
        return made

    def _check_options(self, known: Mapping[str, Any]) -> None:
        for name, value in self.options.items():
            if name not in known:
                raise UserError(unknown_key(f"{self.key}.{name}", known))
            check_type(f"{self.key}.{name}", value, known[name])


def name_of_section(key: str, values: Mapping[str, Any]) -> str:
    """What a section's choice is called: its ``name``, or else the last part of its ``_target_``.

    Raises:
        UserError: a name that no folder can have.
    """
    last = str(values.get("_target_", "")).rpartition(".")[-1]
    return fitting_name(f"{key}.name", values.get("name", last))


def imported(path: Any) -> Callable[..., Any]:
    """The class or function that a dotted path names.

    Raises:
        UserError: there is none.
    """
    module, _, name = str(path).rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise UserError(f"_target_={path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise UserError(f"_target_={path!r} must be a class or a function, it is a {type(found).__name__}")
    return typing.cast("Callable[..., Any]", found)


@cache
def option_types(target: Callable[..., Any], skip: int = 0) -> dict[str, Any]:
    """Names and annotations of the keyword arguments that ``target`` takes after ``skip`` others."""
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
