"""What a step of a study is, and how one is read from the study's file."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ilc.errors import UserError
from lab.configuration.keys import check_keys
from lab.runs.pool.jobs import Place
from lab.runs.pool.jobs_progress import JobsProgress

S = TypeVar("S")

ResultPath = typing.NewType("ResultPath", str)
"""A path below ``results/``."""

PATH_IN_WORDS = "a path below results/, such as spirals/demo"


class Step(Protocol):
    """Something that has to be done, in jobs that are counted, and the files that come of it."""

    @property
    def files(self) -> tuple[str, ...]:
        """What it makes, as paths below ``results/``."""

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """How many of its jobs are done, here or by the files in ``results``, and how many there are."""

    def make(self, folder: Path, results: Path, place: Place, progress: JobsProgress) -> list[str]:
        """Do the missing jobs here or on a cluster; return the messages of those that failed.

        Raises:
            UserError: something without which the others are of no use.
        """

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """The files below ``results`` that what is done comes to.

        Args:
            folder: the study's.
            results: what is done there stays.
            unfinished: whether the files may lack something and say so: then all tables are there, even with
                nothing done. Otherwise there are none when nothing is done.

        Raises:
            UserError: a file below ``results`` is damaged.
        """


def read_fields(kind: type[S], where: str, values: Any) -> S:
    """An object of a dataclass whose attributes have types among ``EXPECTED``.

    Args:
        kind: the dataclass.
        where: the values' place in the file, for messages.
        values: as the file has them.

    Raises:
        UserError: a key that is unknown or missing, or a value of another type.
    """
    if not isinstance(values, dict):
        raise UserError(f"{where} must be key: value, got {values!r}")
    entries: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    check_keys(where, values, [entry.name for entry in entries])
    missing = [entry.name for entry in entries if entry.name not in values and _is_needed(entry)]
    if missing:
        raise UserError(f"{where} lacks {', '.join(missing)}")
    types = typing.get_type_hints(kind)
    for key, value in values.items():
        fits, words = EXPECTED[types[key]]
        if not fits(value):
            raise UserError(f"{where}.{key} must be {words}, got {value!r}")
    return kind(**{str(key): _as_tuples(value) for key, value in values.items()})


def _is_needed(entry: Field[Any]) -> bool:
    return entry.default is MISSING and entry.default_factory is MISSING


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and not value.startswith("/") and ".." not in value.split("/")


def _is_list(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(is_item, value))


EXPECTED: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (_is_word, "a word"),
    str | None: (_is_word, "a word"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    ResultPath: (_is_path, PATH_IN_WORDS),
    ResultPath | None: (_is_path, PATH_IN_WORDS),
    tuple[str, ...]: (_is_list(_is_word), "a list of words"),
    tuple[ResultPath, ...]: (_is_list(_is_path), f"a list, each {PATH_IN_WORDS}"),
    tuple[tuple[str, ...], ...]: (_is_list(_is_list(_is_word)), "a list of lists of overrides"),
    dict[str, Any]: (lambda value: isinstance(value, dict), "option: value"),
}
"""Types of the attributes that ``read_fields`` can read: what a value is tested for, and that in words."""
