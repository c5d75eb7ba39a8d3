"""A step of a study that makes runs and collects them in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from hydra.errors import HydraException

from ilc.configuration.compose import command_of, compose_config, compose_experiment
from ilc.configuration.resolve import run_name
from ilc.errors import UserError
from ilc.runs.export import as_files, export_runs, identity_of, row_order
from ilc.runs.jobs import Place
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.run_files import FAILED, LOG
from ilc.runs.run_key import RUN, overrides_in, run_key
from ilc.runs.study.committed_rows import PENDING, STOPPED, as_text, merged, read_run_rows, settled
from ilc.runs.study.step import ResultPath
from ilc.runs.sweep import WORKER, make, plan


@dataclass(frozen=True)
class RunsStep:
    """Runs, and their rows in ``TO_runs.csv`` and ``TO_curves.csv``.

    A run whose row the table below ``results`` holds is done: it is not made again, and its row stays.

    Attributes:
        overrides: each list as on the command line of ``src/train.py -m``; a run named twice counts once.
        to: path of the tables below ``results/``, without ``_runs.csv``.
        fixed: overrides before each of these lists.
        columns: config keys to add to the tables.
        curves: whether to make ``TO_curves.csv``.
        float_format: of the numbers in the tables (``%.6g``); None for all digits.
        may_diverge: whether runs that fail are rows without metrics, rather than an error.
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
        """Run folder -> overrides.

        Raises:
            HydraException, UserError: an override that does not fit.
        """
        return _plan(self.fixed, self.overrides, folder / "runs")

    def count(self, folder: Path, results: Path) -> tuple[int, int]:
        """As ``Step``; a run that diverged and may is done."""
        runs = self.runs(folder)
        return len(runs) - len(self._missing(runs, results)), len(runs)

    def make(self, folder: Path, results: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``."""
        failures = make(self._missing(self.runs(folder), results), place, progress)
        return [
            f"{run}: {message} (log: {run / LOG})"
            for run, message in failures.items()
            if not self._is_settled(run)
        ]

    def contents(self, folder: Path, results: Path, unfinished: bool) -> dict[Path, bytes]:
        """As ``Step``; runs that nobody has made are rows whose ``stopped`` is ``pending``."""
        runs = self.runs(folder)
        done = [run for run in runs if (run / "done").exists()]
        failed = {run: (run / FAILED).read_text().strip() for run in runs if (run / FAILED).exists()}
        if not self.may_diverge:
            failed = {}
        committed = self._committed(runs, results)
        # A run that was made here and is committed too has its row from here.
        elsewhere = {run: key for run, key in committed.items() if run not in {*done, *failed}}
        if not (done or failed) and not elsewhere:
            return {}
        own = export_runs(done, self.columns, failed) if done or failed else (pd.DataFrame(), pd.DataFrame())
        tables = []
        for kind, table in zip(("runs", "curves"), own, strict=True):
            there = read_run_rows(results / f"{self.to}_{kind}.csv")
            kept = there[there[RUN].isin(elsewhere.values())]
            tables.append([as_text(table, self.float_format), kept] if len(table) else [kept])
        if unfinished:
            tables[0].append(self._pending({run: runs[run] for run in self._missing(runs, results)}))
        order = row_order(self.columns)
        whole = [merged(own, order) for own, order in zip(tables, (order, [*order, "step"]), strict=True)]
        return as_files(whole[0], whole[1] if self.curves else None, results / self.to)

    def _is_settled(self, run: Path) -> bool:
        return (run / "done").exists() or (self.may_diverge and (run / FAILED).exists())

    def _missing(self, runs: Mapping[Path, list[str]], results: Path) -> dict[Path, list[str]]:
        """The runs that are neither made here nor committed."""
        committed = self._committed(runs, results)
        return {run: own for run, own in runs.items() if run not in committed and not self._is_settled(run)}

    def _committed(self, runs: Mapping[Path, list[str]], results: Path) -> dict[Path, str]:
        """Run folder -> key of its row, of the runs that the table below ``results`` holds."""
        table = read_run_rows(results / self.files[0])
        keys = settled(table, self.may_diverge)
        by_key = {run_key(own): run for run, own in runs.items()}
        found = {by_key[key]: key for key in keys if key in by_key}
        # What is not the same word by word may be the same experiment.
        for key, command in zip(table[RUN], table.get("command", ()), strict=False):
            if key in keys and key not in by_key:
                run = next(iter(runs)).parents[1] / _name_of(command)
                if run in runs:
                    found.setdefault(run, key)
        return found

    def _pending(self, runs: Mapping[Path, list[str]]) -> pd.DataFrame:
        rows = [
            identity_of(compose_experiment(own, sweep=True), self.columns)
            | {RUN: run_key(own), STOPPED: PENDING, "command": command_of(own, sweep=True)}
            for own in runs.values()
        ]
        return pd.DataFrame(rows)


@cache
def _plan(
    fixed: tuple[str, ...], overrides: tuple[tuple[str, ...], ...], output: Path
) -> dict[Path, list[str]]:
    runs = {}
    for own in overrides:
        runs.update(plan([*fixed, *own, *WORKER], output))
    return runs


@cache
def _name_of(command: str) -> str:
    """The name of the run that a recorded command makes today; empty where it makes none."""
    try:
        return run_name(compose_config(overrides_in(command)))
    except (HydraException, UserError):
        return ""
