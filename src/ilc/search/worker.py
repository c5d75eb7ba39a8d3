"""One process of a search: takes trials and trains them until there are enough."""

from __future__ import annotations

import math
from pathlib import Path

from optuna import Study
from optuna.trial import TrialState

from ilc.configuration.compose import command_of, compose_experiment
from ilc.errors import UserError
from ilc.runs import run
from ilc.search.claims import Claim, claim
from ilc.search.definition import Definition
from ilc.search.space import Value, first_value, override
from ilc.search.study import open_study

# A worker is one core's; none of this changes what is trained.
WORKER = ("threads=1", "logger=none")


def work(definition: Definition, folder: Path) -> None:
    """Complete trials until the study has as many as the definition asks for.

    Raises:
        UserError: too many failed, or one could not be written; the same command continues.
    """
    study = open_study(definition, folder)
    while (mine := claim(study, definition, folder)) is not None:
        try:
            complete(mine, study, definition)
        finally:
            mine.release()


def complete(mine: Claim, study: Study, definition: Definition) -> None:
    """Train a trial, or continue it, and tell the study: its value, or why it failed.

    Killed in between, the run folder is done and the study does not know: the next worker only tells.

    Raises:
        UserError: not the trial's fault: the disk, or a metric that no run has.
    """
    overrides = overrides_of(definition, mine.parameters)
    print(f"trial {mine.number}: {' '.join(overrides)}", flush=True)
    try:
        summary = run(compose_experiment(overrides), mine.folder, command_of(overrides))
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise
        _fail(mine, study, str(error))
        return
    missing = [metric for metric in definition.objective if metric not in summary]
    if missing:
        raise UserError(
            f"search {definition.name}: no run has the metric {missing[0]}. There are {', '.join(summary)}"
        )
    value = float(summary[definition.metric])
    if math.isfinite(value):
        study.tell(mine.number, value)
    else:
        _fail(mine, study, f"{definition.metric} is {value}")


def _fail(mine: Claim, study: Study, message: str) -> None:
    print(f"trial {mine.number} failed: {message}", flush=True)
    mine.trial.set_user_attr("error", message)
    study.tell(mine.number, state=TrialState.FAIL)


def overrides_of(definition: Definition, parameters: dict[str, Value]) -> list[str]:
    """The command line of a trial's run."""
    own = [override(key, value) for key, value in parameters.items()]
    return [*definition.fixed, *own, f"trainer.selection={definition.selection}", *WORKER]


def check_overrides(definition: Definition) -> None:
    """Compose one point of the space, so that a wrong key stops the search before it starts.

    Raises:
        HydraException, UserError: an override that does not fit the config.
    """
    compose_experiment(
        overrides_of(definition, {key: first_value(limits) for key, limits in definition.space.items()})
    )
