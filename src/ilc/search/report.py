"""What a search found: a tidy table of all trials, and the best one as a config file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from optuna import Study
from optuna.trial import TrialState

from ilc.configuration.compose import command_of
from ilc.configuration.groups import CONF
from ilc.errors import UserError
from ilc.search.claims import folder_of
from ilc.search.definition import Definition
from ilc.search.worker import overrides_of

# Overrides that say what is run where and how time is saved in the search, not how well it was set.
NOT_SETTINGS = (
    *("experiment", "tuned", "seed", "device", "threads", "data_dir", "logger"),
    *("trainer.stop_below", "trainer.evaluation_examples"),
)


def tabulate_trials(study: Study, definition: Definition, folder: Path) -> pd.DataFrame:
    """A row per trial, failed ones included: parameters, the summary of its run, what repeats it.

    Columns: ``search``, ``number``, ``state``, ``value``, the keys of the space, the summary's
    entries (empty for a trial that did not complete), ``error`` and ``command``.
    """
    rows = []
    for trial in study.get_trials(deepcopy=False):
        run = folder_of(folder, trial.number)
        summary: dict[str, Any] = {}
        if trial.state == TrialState.COMPLETE:
            summary = json.loads((run / "summary.json").read_text())
            summary["git_commit"] = json.loads((run / "provenance.json").read_text())["git_commit"]
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
    return pd.DataFrame(rows)


def best_trial(trials: pd.DataFrame, definition: Definition) -> pd.Series:
    """The row that the definition's rule chooses among the completed ones.

    Raises:
        UserError: none completed.
    """
    complete = trials[trials.state == "COMPLETE"] if len(trials) else trials
    if complete.empty:
        raise UserError(
            f"search {definition.name}: no trial has completed yet: give the search's command again"
        )
    rising = [way == "minimize" for way in definition.objective.values()]
    ranked = complete.sort_values([*definition.objective, "number"], ascending=[*rising, True])
    return ranked.iloc[0]


def tuned_config(study: Study, trials: pd.DataFrame, definition: Definition) -> str:
    """The best configuration as a file for ``conf/tuned/``, with where it comes from in comments.

    Raises:
        UserError: as ``best_trial``.
    """
    best = best_trial(trials, definition)
    # From the study: a table's columns do not keep the values' types.
    groups, settings = _settings(overrides_of(definition, study.get_trials()[int(best.number)].params))
    states = trials.state.value_counts()
    experiment = next((o for o in definition.fixed if o.startswith("experiment=")), "")
    kind = {"random": "random search", "tpe": "Optuna's TPE"}[definition.sampler]
    lines = [
        "# @package _global_",
        f"# python src/train.py {experiment} tuned=searched/{definition.name} seed=0",
        f"# Best of {states['COMPLETE']} completed trials ({states.get('FAIL', 0)} failed) by {kind}:",
        f"# trial {best.number}, {definition.metric} {best.value:.6g}.",
        *(f"# {part}" for part in f"Rule: {definition.rule}.".split("; ")),
        f"# Made by: python scripts/search.py {definition.name} --export",
    ]
    if groups:
        lines += ["defaults:", *(f"  - override /{group}: {choice}" for group, choice in groups.items())]
    return "\n".join(lines) + "\n" + (OmegaConf.to_yaml(OmegaConf.create(settings)) if settings else "")


def _settings(overrides: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """A run's overrides as choices of groups and as nested values."""
    groups: dict[str, str] = {}
    settings = OmegaConf.create({})
    kept = [text for text in overrides if not text.startswith("~")]
    for entry in OverridesParser.create().parse_overrides(kept):
        key = entry.key_or_group.lstrip("+")
        if key in NOT_SETTINGS:
            continue
        if (CONF / key).is_dir():
            groups[key] = str(entry.value())
        else:
            OmegaConf.update(settings, key, entry.value(), force_add=True)
    nested = OmegaConf.to_container(settings)
    assert isinstance(nested, dict)
    return groups, {str(key): value for key, value in nested.items()}
