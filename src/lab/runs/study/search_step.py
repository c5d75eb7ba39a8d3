"""A step of a study that searches hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from optuna.trial import TrialState

from lab.files.checksums import read_listed
from lab.runs.pool.jobs import WorkersOrCluster
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.search.committed_trials import ROW, n_complete, read_trials, take_over
from lab.runs.search.draws import REPEATS
from lab.runs.search.files import outcome, result_files, table_path
from lab.runs.search.loop import search
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.search_file import load_definitions
from lab.runs.search.storage import STORAGE, open_storage
from lab.runs.search.table import EMPTY
from lab.runs.search.trial import folder_of
from lab.runs.study.committed_rows import joined_files
from lab.runs.study.step import ResultPath
from lab.runs.tables.export import export_runs
from lab.runs.tables.run_key import RUN, overrides_in, run_key


@dataclass(frozen=True)
class SearchStep:
    """Searches, with the tables of their trials and their best settings.

    Attributes:
        names: files in ``conf/search/``, with all their searches, or single searches such as ``NAME/PART``.
        to: path below ``results/``, without ``_runs.csv``, for tables of the runs of all trials; None for no
            such tables.
        columns: config keys that are added to these tables.
        curves: whether ``TO_curves.csv`` is made too.
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
        """The number of complete trials and of wanted trials; a failed trial does not count."""
        counts = [
            (
                min(n_complete(definition, own, _committed(definition, results)), definition.trials),
                definition.trials,
            )
            for definition, own in self._searches(folder)
        ]
        done, wanted = (sum(column) for column in zip(*counts, strict=True))
        return done, wanted

    def make(
        self, folder: Path, results: Path, workers: WorkersOrCluster, progress: JobsProgress
    ) -> list[str]:
        """Do the missing trials. It is an error if too many trials of a search fail."""
        for definition, own in self._searches(folder):
            table = _committed(definition, results)
            if n_complete(definition, own, table) < definition.trials:
                take_over(definition, own, table)
                search(definition, own, workers, progress)
                print(outcome(definition, own))
        return []

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """The tables, and the files with the best settings."""
        contents: dict[Path, bytes] = {}
        trained: list[Path] = []
        kept: set[str] = set()
        for definition, own in self._searches(folder):
            table = _committed(definition, results)
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
            contents |= joined_files(
                tables, prefix, results, kept - made, kept | made, self.columns, self.curves
            )
        return contents

    def _searches(self, folder: Path) -> list[tuple[SearchDefinition, Path]]:
        return [(definition, folder / "search" / definition.name) for definition in self._definitions]

    @cached_property
    def _definitions(self) -> list[SearchDefinition]:
        return [definition for name in self.names for definition in load_definitions(name)]


def _committed(definition: SearchDefinition, results: Path) -> Path:
    """The path of the table of trials, after a check that it is the one that ``SHA256SUMS`` lists.

    Raises:
        UserError: the table was changed.
    """
    table = results / table_path(definition)
    read_listed(results, table)
    return table
