"""What a search found, as a tidy table of all trials, and which of them is the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from optuna.trial import TrialState

from ilc.configuration.compose import command_of
from ilc.errors import UserError
from ilc.runs.run_files import read_provenance, read_summary
from ilc.runs.search.definition import Definition
from ilc.runs.search.draws import REPEATS
from ilc.runs.search.trial import folder_of, overrides_of


def tabulate_trials(stored: optuna.Study, definition: Definition, folder: Path) -> pd.DataFrame:
    """A row per trial, failed ones included: parameters, the summary of its run, what repeats it.

    Columns: ``search``, ``number``, ``state``, ``chosen`` (whether it is the best by the definition's
    rule), ``value``, the keys of the space, the summary's entries (empty for a trial that did not
    complete), ``error`` and ``command``; ``repeats`` where trials were not trained, because an earlier one of
    that number had their parameters, whose summary they then have, without the time.
    """
    rows = []
    for trial in stored.get_trials(deepcopy=False):
        repeats = trial.user_attrs.get(REPEATS)
        run = folder_of(folder, trial.number if repeats is None else repeats)
        summary: dict[str, Any] = {}
        if trial.state == TrialState.COMPLETE:
            summary = {**read_summary(run), "git_commit": read_provenance(run)["git_commit"]}
            _check_value(trial, summary, definition, run)
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
    table = pd.DataFrame(rows)
    if "repeats" in table:
        table = table.astype({"repeats": "Int64"})  # Some have none.
    if rows:
        chosen = table.index.isin(_ranked(table, definition).index[:1])
        table.insert(list(table.columns).index("value"), "chosen", chosen)
    return table


def _check_value(
    trial: optuna.trial.FrozenTrial, summary: dict[str, Any], definition: Definition, run: Path
) -> None:
    """Whether the database says of a trial what its run does, whose files carry hashes."""
    if summary.get(definition.metric) != trial.value:
        raise UserError(
            f"search {definition.name}: its database has {definition.metric} {trial.value} of trial "
            f"{trial.number}, its run {run} has {summary.get(definition.metric)}: put back a copy of the "
            "folder, or remove what was changed, and give the search's command again"
        )


def best_trial(trials: pd.DataFrame, definition: Definition) -> pd.Series:
    """The row that the definition's rule chooses among the completed ones; raises as ``finalists``."""
    return finalists(trials, definition).iloc[0]


def finalists(trials: pd.DataFrame, definition: Definition) -> pd.DataFrame:
    """The completed rows that the definition's rule ranks first, best first, as many as it keeps.

    Raises:
        UserError: none completed.
    """
    if trials.empty or not (trials.state == "COMPLETE").any():
        raise UserError(
            f"search {definition.name}: no trial has completed yet: give the search's command again"
        )
    return _ranked(trials, definition).head(definition.finalists)


def _ranked(trials: pd.DataFrame, definition: Definition) -> pd.DataFrame:
    """The completed ones, best first."""
    complete = trials[trials.state == "COMPLETE"]
    if "repeats" in complete:
        complete = complete[complete.repeats.isna()]
    if complete.empty:
        return complete
    rising = [way == "minimize" for way in definition.objective.values()]
    return complete.sort_values([*definition.objective, "number"], ascending=[*rising, True])
