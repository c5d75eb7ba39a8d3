"""Checks that the trials in a database can belong to the search. The file may come from another person."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna

from ilc.errors import UserError
from lab.runs.search.draws import REPEATS
from lab.runs.search.search_definition import SearchDefinition

ROUNDING = 1e-9
"""The relative error by which a number may lie outside its range, because logarithms are taken and undone."""


def check_database(path: Path) -> None:
    """Check that a file is a whole SQLite database. A file that does not exist is made later.

    Raises:
        UserError: the file is damaged, or is not a database.
    """
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        raise damaged(str(path), " ".join(str(found).split()))


def damaged(place: str, why: str) -> UserError:
    """The message for a database that cannot be used as it is."""
    return UserError(
        f"the trials in {place} are damaged ({why}): put back a copy of the database, or remove it. The "
        "search then starts over, but runs that are done are not trained again"
    )


def check_trials(stored: optuna.Study, definition: SearchDefinition, place: str) -> None:
    """Check that every parameter of every trial is a key of the space, with a value within its range.

    The parameters of a trial become a command line, and the best ones become a file in ``conf/tuned``.
    Without this check, any text in the database could get there.

    Raises:
        UserError: a parameter is not in the space, or a trial repeats a trial that does not exist.
    """
    trials = stored.get_trials(deepcopy=False)
    for trial in trials:
        for key, value in trial.params.items():
            if key not in definition.space or not _fits(value, definition.space[key]):
                raise damaged(
                    place, f"trial {trial.number} has {key}={value!r}, outside of the search's space"
                )
        repeated = trial.user_attrs.get(REPEATS)
        if repeated is not None and repeated not in range(len(trials)):
            raise damaged(place, f"trial {trial.number} repeats {repeated!r}, which is not a trial")


def _fits(value: Any, limits: dict[str, Any]) -> bool:
    ((kind, values),) = limits.items()
    if kind == "choice":
        return any(type(value) is type(choice) and value == choice for choice in values)
    if isinstance(value, bool) or not isinstance(value, int if kind == "integer" else (int, float)):
        return False
    return _within(value, values)


def _within(value: float, limits: Sequence[float]) -> bool:
    low, high = limits
    return low - ROUNDING * abs(low) <= value <= high + ROUNDING * abs(high)
