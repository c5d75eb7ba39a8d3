"""One trial of a search: its overrides, its run folder, and the job that trains it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.configuration.compose import compose_experiment
from lab.runs.one_run.run_files import LOG
from lab.runs.pool.job import Job
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.space import Value, override, values_to_check
from lab.runs.sweep.sweep import WORKER, attempt

Result = dict[str, Any] | str
"""The summary of the run of a trial, or the reason why it failed."""


@dataclass(frozen=True)
class Trial:
    """A trial under way.

    Attributes:
        number: the number of the trial, from 0, in the order in which the trials began.
        parameters: key of the space -> value.
    """

    number: int
    parameters: dict[str, Value]

    def job(self, definition: SearchDefinition, folder: Path) -> Job[Result]:
        """The job that trains the trial, or continues it, in a worker."""
        own = folder_of(folder, self.number)
        overrides = overrides_of(definition, self.parameters)
        return Job(str(self.number), partial(attempt, overrides, own), own / LOG)


def folder_of(folder: Path, number: int) -> Path:
    """The run folder of a trial, below the search's folder."""
    return folder / "trials" / f"{number:04d}"


def overrides_of(definition: SearchDefinition, parameters: dict[str, Value]) -> list[str]:
    """The command line of a trial's run."""
    own = [override(key, value) for key, value in parameters.items()]
    fixed = (*definition.fixed, *definition.was_default)
    return [*fixed, *own, f"trainer.selection={definition.selection}", *WORKER]


def check_overrides(definition: SearchDefinition) -> None:
    """Compose points of the space, so that a wrong key or value stops the search before it starts.

    The points have every choice, and both ends of every range of numbers.

    Raises:
        HydraException, UserError: an override that does not fit the config.
    """
    tried = {key: values_to_check(limits) for key, limits in definition.space.items()}
    for point in range(max(map(len, tried.values()))):
        parameters = {key: values[point % len(values)] for key, values in tried.items()}
        compose_experiment(overrides_of(definition, parameters))
