"""The table of all trials of a search, and the best trials in it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from optuna.trial import FrozenTrial, TrialState

from ilc.errors import UserError
from lab.configuration.compose import command_of
from lab.runs.one_run.run_files import read_provenance, read_summary
from lab.runs.search.committed_trials import ROW, summary_in
from lab.runs.search.draws import REPEATS
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.trial import folder_of, overrides_of

EMPTY = ("search", "number", "state", "chosen", "value", "error", "command")
"""The columns of a table without trials."""


def tabulate_trials(stored: optuna.Study, definition: SearchDefinition, folder: Path) -> pd.DataFrame:
    """Make a table with one row per trial, also for failed ones.

    The columns are ``search``, ``number``, ``state``, ``chosen`` (whether the trial is the best by the rule
    of the search), ``value``, the keys of the space, the entries of the summary (empty if the trial did not
    complete), ``error`` and ``command``. The column ``repeats`` exists if some trials were not trained,
    because an earlier trial had the same parameters. It holds the number of the earlier trial. The row then
    has the summary of the earlier trial, without the time.
    """
    rows = []
    trials = stored.get_trials(deepcopy=False)
    for trial in trials:
        repeats = trial.user_attrs.get(REPEATS)
        summary: dict[str, Any] = {}
        if trial.state == TrialState.COMPLETE:
            trained = trials[trial.number if repeats is None else repeats]
            summary = _summary(trained, definition, folder)
            _check_value(trial, summary, definition, folder_of(folder, trained.number))
        if repeats is not None:
            summary |= {"repeats": repeats, "wall_seconds": None}
        parameters = {key: trial.params[key] for key in definition.space if key in trial.params}
        rows.append(
            {
                "search": definition.name,
                "number": trial.number,
                "state": trial.state.name,
                "value": trial.value,
                **parameters,
                **summary,
                "error": trial.user_attrs.get("error"),
                "command": command_of(overrides_of(definition, parameters)),
            }
        )
    table = pd.DataFrame(rows, columns=None if rows else EMPTY)
    if "repeats" in table:
        table = table.astype({"repeats": "Int64"})  # Trials that were trained have no number here.
    if rows:
        chosen = table.index.isin(_ranked(table, definition).index[:1])
        table.insert(list(table.columns).index("value"), "chosen", chosen)
    return table


def _check_value(
    trial: optuna.trial.FrozenTrial, summary: dict[str, Any], definition: SearchDefinition, run: Path
) -> None:
    """Check that the value in the database is the value in the run folder, whose files carry hashes."""
    if summary.get(definition.metric) != trial.value:
        raise UserError(
            f"search {definition.name}: trial {trial.number} has {definition.metric} {trial.value} in the "
            f"database, but {summary.get(definition.metric)} in its run {run}: put back a copy of the "
            "folder, or remove the part that was changed, and give the search's command again"
        )


def table_file(table: pd.DataFrame, stored: optuna.Study) -> bytes:
    """The table as CSV. Rows from a committed table keep their text; only their ``chosen`` may change."""
    kept = {
        trial.number: trial.user_attrs[ROW]
        for trial in stored.get_trials(deepcopy=False)
        if ROW in trial.user_attrs
    }
    if not kept:
        return table.to_csv(index=False).encode()
    text = pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype=str, keep_default_na=False)
    there = list(next(iter(kept.values())))
    text = text.reindex(columns=[*there, *(column for column in text if column not in there)], fill_value="")
    for number, row in kept.items():
        for column in there:
            if column != "chosen":
                text.loc[number, column] = row[column]
    return text.to_csv(index=False).encode()


def best_trial(trials: pd.DataFrame, definition: SearchDefinition) -> pd.Series:
    """The completed row that the rule of the search ranks first; raises the errors of ``finalists``."""
    return finalists(trials, definition).iloc[0]


def finalists(trials: pd.DataFrame, definition: SearchDefinition) -> pd.DataFrame:
    """The completed rows that the rule of the search ranks first, the best one first.

    Raises:
        UserError: no trial has completed.
    """
    if trials.empty or not (trials.state == "COMPLETE").any():
        raise UserError(
            f"search {definition.name}: no trial has completed yet. Give the search's command again"
        )
    return _ranked(trials, definition).head(definition.finalists)


def _summary(trial: FrozenTrial, definition: SearchDefinition, folder: Path) -> dict[str, Any]:
    """The summary of a trained trial: from its run folder, or from its row if it comes from a table."""
    if ROW in trial.user_attrs:
        return summary_in(trial, definition)
    run = folder_of(folder, trial.number)
    return {**read_summary(run), "git_commit": read_provenance(run)["git_commit"]}


def _ranked(trials: pd.DataFrame, definition: SearchDefinition) -> pd.DataFrame:
    """The completed trials, the best one first."""
    complete = trials[trials.state == "COMPLETE"]
    if "repeats" in complete:
        complete = complete[complete.repeats.isna()]
    if complete.empty:
        return complete
    rising = [way == "minimize" for way in definition.objective.values()]
    return complete.sort_values([*definition.objective, "number"], ascending=[*rising, True])
