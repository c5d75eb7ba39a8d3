"""The arguments of a task, read from the keys of the config that are not the run's own."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from typing import Any

from ilc.errors import UserError
from lab.configuration.keys import check_type, unknown_key
from lab.configuration.section import OptionsIn, Section, option_types
from lab.configuration.shared_keys import SHARED_KEYS

N_GIVEN = 2
"""The first arguments of every task, which do not come from the config: the run and the device."""


def task_arguments(
    task: Callable[..., Any], content: Mapping[str, Any], known_of_trainer: Collection[str]
) -> dict[str, Any]:
    """Read the arguments of a task, and check every option before anything is built.

    Args:
        task: the class or function that makes the task.
        content: the keys of the config that belong to the task.
        known_of_trainer: the keys of the section ``trainer`` that belong to the run, for messages.

    Raises:
        UserError: a key is unknown, missing or of the wrong type.
    """
    types = option_types(task, skip=N_GIVEN)
    shared = {name: mark for name, kind in types.items() if (mark := _mark(kind)) is not None}
    own = {name: kind for name, kind in types.items() if name not in shared}
    _check_keys(task, content, own, known_of_trainer)
    arguments: dict[str, Any] = {}
    for key, value in content.items():
        marks = {name: mark for name, mark in shared.items() if mark.key == key}
        if own[key] is Section:
            arguments |= _sections(key, value, marks)
        elif is_dataclass(own[key]) and isinstance(own[key], type):
            arguments[key] = read_dataclass(key, own[key], value)
        else:
            check_type(key, value, own[key])
            arguments[key] = value
    return arguments


def read_dataclass(key: str, kind: type, values: Any) -> Any:
    """Read a section of plain values, which has no ``_target_``, as an object of a dataclass.

    Raises:
        UserError: it is not a section, an option is unknown or of the wrong type, or the dataclass refuses
        it.
    """
    if not isinstance(values, Mapping):
        raise UserError(
            f"{key} must be a section with the keys {', '.join(option_types(kind))}, got {values!r}"
        )
    return Section(key, key, kind, dict(values)).build()


def _mark(annotation: Any) -> OptionsIn | None:
    """The ``OptionsIn`` in an argument's annotation, or None."""
    return next((mark for mark in typing.get_args(annotation) if isinstance(mark, OptionsIn)), None)


def _sections(key: str, values: Any, marks: Mapping[str, OptionsIn]) -> dict[str, Section]:
    """The section of an argument, and those of the arguments whose options stand in the same section."""
    section = Section.of(key, values)
    section.check(*(mark.owner for mark in marks.values()))
    others: dict[str, Section] = {}
    for name, mark in marks.items():
        section, others[name] = section.split(mark.owner)
    return {key: section, **others}


def _check_keys(
    task: Callable[..., Any],
    content: Mapping[str, Any],
    own: Mapping[str, Any],
    known_of_trainer: Collection[str],
) -> None:
    for key, value in content.items():
        if key == "trainer" and key not in own:
            raise UserError(unknown_key(f"trainer.{next(iter(value))}", known_of_trainer))
        if key not in own:
            raise UserError(unknown_key(key, {*SHARED_KEYS, *own}))
    for name, parameter in inspect.signature(task).parameters.items():
        if name in own and name not in content and parameter.default is inspect.Parameter.empty:
            raise UserError(f"the config lacks {name!r}, which {task.__name__} needs")
