"""A step of a study that makes runs and collects them in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from hydra.errors import HydraException

from ilc.errors import UserError
from lab.configuration.compose import command_of, compose_run
from lab.configuration.resolve import run_name
from lab.files.stopped_column import DIVERGED, PENDING, STOPPED
from lab.runs.one_run.diverged import divergence
from lab.runs.one_run.run_files import LOG
from lab.runs.pool.jobs import WorkersOrCluster
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.committed_rows import joined_files, read_run_rows, settled
from lab.runs.study.step import ResultPath
from lab.runs.sweep.sweep import WORKER, make, plan
from lab.runs.tables.columns import check_columns, config_of
from lab.runs.tables.export import export_runs, identity_columns
from lab.runs.tables.run_key import RUN, overrides_in, run_key


@dataclass(frozen=True)
class RunsStep:
    """Runs, and their rows in ``TO_runs.csv`` and ``TO_curves.csv``.

    A run is done if the table below ``results`` holds its row. It is not made again, and its row stays.

    Attributes:
        overrides: lists of overrides, each as on the command line of ``src/train.py -m``. A run that two
            lists name counts once.
        to: the path of the tables below ``results/``, without ``_runs.csv``.
        fixed: overrides that are put before each of these lists.
        columns: config keys that are added to the tables.
        curves: whether ``TO_curves.csv`` is made.
        float_format: the format of numbers in the tables (``%.6g``); None for all digits.
        may_diverge: whether a run that fails gives a row without metrics. Otherwise it is an error.
    """

    overrides: tuple[tuple[str, ...], ...]
    to: ResultPath
    fixed: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    curves: bool = True
    float_format: str | None = None
    may_diverge: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The tables."""
        kinds = ("runs", "curves") if self.curves else ("runs",)
        return tuple(f"{self.to}_{kind}.csv" for kind in kinds)

    def runs(self, folder: Path) -> dict[Path, list[str]]:
        """Run folder -> the overrides of its run.

        Raises:
            HydraException, UserError: an override does not fit the config, or no run has a key of
                ``columns``.
        """
        return _plan(self.fixed, self.overrides, folder / "runs", self.columns)

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """The number of runs that are done and of all runs; a run that may diverge and did so is done."""
        runs = self.runs(folder)
        return len(runs) - len(self._missing(runs, results)), len(runs)

    def make(
        self, folder: Path, results: Path, workers: WorkersOrCluster, progress: JobsProgress
    ) -> list[str]:
        """Make the missing runs; return the messages of the failed ones."""
        failures = make(self._missing(self.runs(folder), results), workers, progress)
        return [
            f"{run}: {message} (log: {run / LOG})"
            for run, message in failures.items()
            if not self._is_settled(run)
        ]

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """The tables.

        In an unfinished study, a run that is not made yet is a row with ``stopped`` = ``pending``.
        """
        runs = self.runs(folder)
        committed = self._committed(runs, results)
        done = [run for run in runs if (run / "done").exists()]
        messages = {run: divergence(run) for run in runs if self.may_diverge and run not in done}
        failed = {run: message for run, message in messages.items() if message is not None}
        # If a run was made here and is committed too, its row comes from here.
        elsewhere = {run: key for run, key in committed.items() if run not in {*done, *failed}}
        if not (done or failed or elsewhere or unfinished):
            return {}
        there = read_run_rows(results / self.files[0], results, "command")
        missing = [own for run, own in runs.items() if run not in {*done, *failed, *elsewhere}]
        return joined_files(
            export_runs(done, self.columns, failed) if done or failed else (pd.DataFrame(), pd.DataFrame()),
            results / self.to,
            results,
            elsewhere.values(),
            {*map(run_key, runs.values()), *_named(there, runs)},
            self.columns,
            self.curves,
            self.float_format,
            self._pending(missing) if unfinished else None,
        )

    def _is_settled(self, run: Path) -> bool:
        return (run / "done").exists() or (self.may_diverge and divergence(run) is not None)

    def _missing(self, runs: Mapping[Path, list[str]], results: Path) -> dict[Path, list[str]]:
        """The runs that are neither made here nor in the committed tables."""
        committed = self._committed(runs, results)
        return {run: own for run, own in runs.items() if run not in committed and not self._is_settled(run)}

    def _committed(self, runs: Mapping[Path, list[str]], results: Path) -> dict[Path, str]:
        """Run folder -> key of its rows, of the runs that the tables below ``results`` hold."""
        table = settled(results / self.files[0], results, self.may_diverge)
        if self.curves:  # A run whose curve is missing must be made again.
            drawn = read_run_rows(results / self.files[1], results)[RUN]
            table = table[table[RUN].isin(drawn) | (table[STOPPED] == DIVERGED)]
        exact = {run_key(own) for own in runs.values()}
        found: dict[Path, str] = {}
        for key, run in sorted(_named(table, runs).items(), key=lambda item: item[0] not in exact):
            found.setdefault(run, key)
        return found

    def _pending(self, missing: Sequence[Sequence[str]]) -> pd.DataFrame:
        rows = [
            identity_columns(config_of(tuple(own)), self.columns)
            | {RUN: run_key(own), STOPPED: PENDING, "command": command_of(own, sweep=True)}
            for own in missing
        ]
        return pd.DataFrame(rows)


@cache
def _plan(
    fixed: tuple[str, ...], overrides: tuple[tuple[str, ...], ...], output: Path, columns: tuple[str, ...]
) -> dict[Path, list[str]]:
    runs = {}
    for own in overrides:
        runs.update(plan([*fixed, *own, *WORKER], output))
    check_columns("columns", columns, runs.values())
    return runs


def _named(table: pd.DataFrame, runs: Mapping[Path, list[str]]) -> dict[str, Path]:
    """Key of a row -> its run folder, of the rows whose run is one of these.

    Two commands with different words may be the same experiment.
    """
    by_key = {run_key(own): run for run, own in runs.items()}
    found = {}
    for key, command in zip(table[RUN], table.command, strict=True):
        run = by_key[key] if key in by_key else next(iter(runs)).parents[1] / _name_of(command)
        if run in runs:
            found[str(key)] = run
    return found


@cache
def _name_of(command: str) -> str:
    """The name of the run that a recorded command makes today; empty if it no longer works."""
    try:
        return run_name(compose_run(overrides_in(command)))
    except (HydraException, UserError):
        return ""
