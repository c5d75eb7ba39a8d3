"""Trials that a committed table holds.

They are added to a storage that lacks them, and are not trained again.

Such a trial has no run folder. Its row in the table holds the results of its run; the trial keeps the row
as an attribute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from ilc.errors import UserError
from lab.runs.search.draws import REPEATS
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.space import Value, distribution, override
from lab.runs.search.storage import STORAGE, open_storage
from lab.runs.search.trial import overrides_of
from lab.runs.search.trial_locks import FolderLock
from lab.runs.tables.run_key import overrides_in

ROW = "row"
"""The attribute of a trial from a table that holds its row: column -> text."""
NEEDED = ("number", "state", "value", "error", "command")


def read_trials(definition: SearchDefinition, table: Path) -> list[dict[str, str]]:
    """Read the rows of a table of trials as text, in the order of the trials; empty if there is no file.

    Raises:
        UserError: the file is damaged, or holds trials of another search.
    """
    if not table.exists():
        return []
    try:
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:
        raise _unusable(table, " ".join(str(error).split())) from error
    missing = [column for column in NEEDED if column not in rows]
    if missing:
        raise _unusable(
            table, f"it is not a table of trials, because it lacks the column {', '.join(missing)}"
        )
    found = [dict(zip(rows.columns, cells, strict=True)) for cells in rows.astype(str).values.tolist()]
    for i, row in enumerate(found):
        if row["number"] != str(i):
            raise _unusable(table, f"trial {i} is not in row {i + 1}")
        try:
            _trial(definition, row)
        except (ValueError, KeyError) as error:
            raise _unusable(
                table, f"trial {i} does not belong to the search {definition.name}: {error}"
            ) from error
    return found


def n_complete(definition: SearchDefinition, folder: Path, table: Path) -> int:
    """The number of complete trials: those in ``folder``, and the further ones in ``table``."""
    rows = read_trials(definition, table)
    states = _states(definition, folder)
    states += [row["state"] for row in rows[len(states) :]]
    return states.count(TrialState.COMPLETE.name)


def take_over(definition: SearchDefinition, folder: Path, table: Path) -> None:
    """Add the trials of ``table`` that the storage in ``folder`` lacks to this storage.

    A trial that was under way when the table was written starts again, with the same parameters.

    Raises:
        UserError: as in ``read_trials``, or another process searches there.
    """
    rows = read_trials(definition, table)
    if len(rows) <= len(_states(definition, folder)):
        return
    lock = FolderLock(folder)
    try:
        stored = open_storage(definition, folder)
        for row in rows[len(stored.get_trials(deepcopy=False)) :]:
            stored.add_trial(_trial(definition, row))
    finally:
        lock.close()


def summary_in(trial: FrozenTrial, definition: SearchDefinition) -> dict[str, Any]:
    """The summary of the run of a trial with a ``ROW``, in the form of ``read_summary``."""
    known = {"search", "chosen", *NEEDED, REPEATS, *definition.space}
    return {key: _value(text) for key, text in trial.user_attrs[ROW].items() if key not in known and text}


def _states(definition: SearchDefinition, folder: Path) -> list[str]:
    if not (folder / STORAGE).exists():
        return []
    return [trial.state.name for trial in open_storage(definition, folder).get_trials(deepcopy=False)]


def _trial(definition: SearchDefinition, row: dict[str, str]) -> FrozenTrial:
    """Make a trial of Optuna from a row.

    Raises:
        ValueError, KeyError: the row is not a trial of this search.
    """
    state = TrialState[row["state"]]
    overrides = overrides_in(row["command"])
    strange = set(overrides_of(definition, {})) - set(overrides) - set(definition.was_default)
    if strange:
        raise ValueError(f"its command lacks {', '.join(sorted(strange))}")
    texts = dict(text.partition("=")[::2] for text in overrides)
    parameters: dict[str, Value] = {}
    distributions: dict[str, BaseDistribution] = {}
    for key, limits in definition.space.items():
        if key in texts:
            parameters[key] = _parameter(key, texts[key], limits)
            distributions[key] = distribution(limits)
        elif state.is_finished():
            raise ValueError(f"its command lacks {key}")
    attributes: dict[str, Any] = {ROW: row}
    if row["error"]:
        attributes["error"] = row["error"]
    if row.get(REPEATS):
        attributes[REPEATS] = int(row[REPEATS])
    return create_trial(
        state=state,
        value=float(row["value"]) if state == TrialState.COMPLETE else None,
        params=parameters,
        distributions=distributions,
        user_attrs=attributes if state.is_finished() else {},
    )


def _parameter(key: str, text: str, limits: dict[str, Any]) -> Value:
    """The value for which ``override`` wrote this text."""
    ((kind, values),) = limits.items()
    if kind == "choice":
        for value in values:
            if override(key, value) == f"{key}={text}":
                return value  # type: ignore[no-any-return]
        raise ValueError(f"{key}={text} is not one of its choices")
    return int(text) if kind == "integer" else float(text)


def _value(text: str) -> Any:
    """The value of a cell of a table."""
    if text in ("True", "False"):
        return text == "True"
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if text.lstrip("-").isdecimal() else number


def _unusable(table: Path, what: str) -> UserError:
    return UserError(f"{table} cannot be used ({what}): put back the committed file, or remove it")
