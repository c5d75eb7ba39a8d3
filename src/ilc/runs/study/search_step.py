"""A step of a study that searches hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from optuna.trial import TrialState

from ilc.runs.export import as_files, export_runs
from ilc.runs.jobs import Place
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.search.definition import Definition
from ilc.runs.search.definition_file import load_definitions
from ilc.runs.search.files import search_files, table_path, tuned_path
from ilc.runs.search.loop import search
from ilc.runs.search.storage import STORAGE, open_storage
from ilc.runs.search.trial import folder_of
from ilc.runs.study.step import ResultPath


@dataclass(frozen=True)
class SearchStep:
    """Searches, the tables of their trials and their best configurations.

    Attributes:
        names: of files in ``conf/search/``, with all their searches, or of such as ``NAME/PART``.
        to: path below ``results/``, without ``_runs.csv``, of tables of all trials' runs; None for none.
        columns: config keys to add to those.
        curves: whether to make ``TO_curves.csv`` too.
    """

    names: tuple[str, ...]
    to: ResultPath | None = None
    columns: tuple[str, ...] = ()
    curves: bool = True

    @property
    def files(self) -> tuple[str, ...]:
        """The tables."""
        trials = tuple(table_path(definition) for definition in self._definitions)
        if self.to is None:
            return trials
        return trials + tuple(f"{self.to}_{kind}.csv" for kind in ("runs", "curves")[: 1 + self.curves])

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """As ``Step``; a trial that failed is none."""
        searches = self._searches(folder)
        wanted = sum(definition.trials for definition, _ in searches)
        return sum(_n_complete(definition, own, results) for definition, own in searches), wanted

    def make(self, folder: Path, results: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``; a search whose trials fail too often is an error."""
        for definition, own in self._searches(folder):
            if _n_complete(definition, own, results) < definition.trials:
                search(definition, own, place, progress)
        return []

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """As ``Step``, with the best configurations."""
        contents: dict[Path, bytes] = {}
        runs: list[Path] = []
        for definition, own in self._searches(folder):
            complete = _complete(definition, own)
            if complete:
                table, tuned = results / table_path(definition), tuned_path(definition, results)
                contents |= search_files(definition, own, table, tuned)
                runs += complete
        if runs and self.to is not None:
            tables = export_runs(runs, self.columns)
            contents |= as_files(tables[0], tables[1] if self.curves else None, results / self.to)
        return contents

    def _searches(self, folder: Path) -> list[tuple[Definition, Path]]:
        return [(definition, folder / "search" / definition.name) for definition in self._definitions]

    @property
    def _definitions(self) -> list[Definition]:
        return [definition for name in self.names for definition in load_definitions(name)]


def _n_complete(definition: Definition, folder: Path, results: Path) -> int:
    """How many trials are complete: here, or else in the table below ``results`` if that holds all."""
    table = results / table_path(definition)
    if not (folder / STORAGE).exists() and table.exists():
        states = pd.read_csv(table, usecols=["state"]).state
        if (states == "COMPLETE").sum() >= definition.trials:
            return definition.trials
    return len(_complete(definition, folder))


def _complete(definition: Definition, folder: Path) -> list[Path]:
    """The run folders of the trials that are complete."""
    if not (folder / STORAGE).exists():
        return []
    trials = open_storage(definition, folder).get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [folder_of(folder, trial.number) for trial in trials]
