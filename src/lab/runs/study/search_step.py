"""A step of a study that searches hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from optuna.trial import TrialState

from lab.runs.pool.jobs import Place
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.search.committed_trials import ROW, n_complete, read_trials, take_over
from lab.runs.search.definition import Definition
from lab.runs.search.definition_file import load_definitions
from lab.runs.search.draws import REPEATS
from lab.runs.search.files import outcome, result_files, table_path
from lab.runs.search.loop import search
from lab.runs.search.storage import STORAGE, open_storage
from lab.runs.search.table import EMPTY
from lab.runs.search.trial import folder_of
from lab.runs.study.committed_rows import joined_files
from lab.runs.study.step import ResultPath
from lab.runs.tables.export import export_runs
from lab.runs.tables.run_key import RUN, overrides_in, run_key


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
        counts = [
            (
                min(n_complete(definition, own, results / table_path(definition)), definition.trials),
                definition.trials,
            )
            for definition, own in self._searches(folder)
        ]
        done, wanted = (sum(column) for column in zip(*counts, strict=True))
        return done, wanted

    def make(self, folder: Path, results: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``; a search whose trials fail too often is an error."""
        for definition, own in self._searches(folder):
            table = results / table_path(definition)
            if n_complete(definition, own, table) < definition.trials:
                take_over(definition, own, table)
                search(definition, own, place, progress)
                print(outcome(definition, own))
        return []

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """As ``Step``, with the best configurations."""
        contents: dict[Path, bytes] = {}
        trained: list[Path] = []
        kept: set[str] = set()
        for definition, own in self._searches(folder):
            table = results / table_path(definition)
            kept |= {run_key(overrides_in(row["command"])) for row in read_trials(definition, table)}
            if (own / STORAGE).exists():
                take_over(definition, own, table)
                complete = open_storage(definition, own).get_trials(
                    deepcopy=False, states=(TrialState.COMPLETE,)
                )
                if complete:
                    contents |= result_files(definition, own, results, contents)
                trained += [
                    folder_of(own, trial.number)
                    for trial in complete
                    if not {ROW, REPEATS} & set(trial.user_attrs)
                ]
            if unfinished and not table.exists() and table not in contents:
                contents[table] = pd.DataFrame(columns=EMPTY).to_csv(index=False).encode()
        if self.to is not None and (trained or unfinished):
            tables = export_runs(trained, self.columns) if trained else (pd.DataFrame(), pd.DataFrame())
            made = set() if tables[0].empty else set(tables[0][RUN])
            prefix = results / self.to
            contents |= joined_files(tables, prefix, kept - made, self.columns, self.curves)
        return contents

    def _searches(self, folder: Path) -> list[tuple[Definition, Path]]:
        return [(definition, folder / "search" / definition.name) for definition in self._definitions]

    @property
    def _definitions(self) -> list[Definition]:
        return [definition for name in self.names for definition in load_definitions(name)]
