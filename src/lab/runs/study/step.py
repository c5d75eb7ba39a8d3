"""The step of a study, and how it is read from the file of the study."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ilc.errors import UserError
from lab.configuration.keys import check_keys
from lab.runs.pool.jobs import WorkersOrCluster
from lab.runs.pool.jobs_progress import JobsProgress

S = TypeVar("S")

ResultPath = typing.NewType("ResultPath", str)
"""A path below ``results/``."""

PATH_IN_WORDS = "a path below results/, such as spirals/demo"


class Step(Protocol):
    """A step of a study: jobs that are counted, and the files that are made from their results."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the step makes, as paths below ``results/``."""

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """The number of jobs that are done, in ``folder`` or in the files in ``results``, and of all jobs."""

    def make(
        self, folder: Path, results: Path, workers: WorkersOrCluster, progress: JobsProgress
    ) -> list[str]:
        """Do the missing jobs, on this machine or on a cluster; return the messages of the failed ones.

        Raises:
            UserError: a job failed without which the other jobs are useless.
        """

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """The contents of the files below ``results``, from the jobs that are done.

        Args:
            folder: the folder of the study.
            results: the folder of the results; its rows are kept.
            unfinished: whether the files may be incomplete, and say so. Then every table exists, even if no
                job is done. Otherwise there is no file before a job is done.

        Raises:
            UserError: a file below ``results`` is damaged.
        """


def read_fields(kind: type[S], where: str, values: Any) -> S:
    """Read an object of a dataclass whose attributes have types that ``EXPECTED`` lists.

    Args:
        kind: the dataclass.
        where: the position in the file, for messages.
        values: the values in the file.

    Raises:
        UserError: a key is unknown or missing, or a value has another type.
    """
    if not isinstance(values, dict):
        raise UserError(f"{where} must be a section of key: value, got {values!r}")
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
    dict[str, Any]: (lambda value: isinstance(value, dict), "a section of option: value"),
}
"""The types that ``read_fields`` can read. Each has a test for the value and the expectation in words."""
