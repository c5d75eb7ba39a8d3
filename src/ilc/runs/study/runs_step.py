"""A step of a study that makes runs and collects them in one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ilc.runs.export import as_files, export_runs
from ilc.runs.jobs import Place
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.run_files import FAILED, LOG
from ilc.runs.study.step import ResultPath
from ilc.runs.sweep import WORKER, make, plan


@dataclass(frozen=True)
class RunsStep:
    """Runs, and their rows in ``TO_runs.csv`` and ``TO_curves.csv``.

    Attributes:
        overrides: each list as on the command line of ``src/train.py -m``; a run named twice counts once.
        to: path of the tables below ``results/``, without ``_runs.csv``.
        fixed: overrides before each of these lists.
        columns: config keys to add to the tables.
        curves: whether to make ``TO_curves.csv``.
        may_diverge: whether runs that fail are rows without metrics, rather than an error.
    """

    overrides: tuple[tuple[str, ...], ...]
    to: ResultPath
    fixed: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    curves: bool = True
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

    def count(self, folder: Path) -> tuple[int, int]:
        """As ``Step``; a run that diverged and may is done."""
        runs = self.runs(folder)
        return sum(map(self._is_settled, runs)), len(runs)

    def make(self, folder: Path, place: Place, progress: JobsProgress) -> list[str]:
        """As ``Step``."""
        missing = {run: own for run, own in self.runs(folder).items() if not self._is_settled(run)}
        failures = make(missing, place, progress)
        return [
            f"{run}: {message} (log: {run / LOG})"
            for run, message in failures.items()
            if not self._is_settled(run)
        ]

    def contents(self, folder: Path, results: Path) -> dict[Path, bytes]:
        """As ``Step``."""
        runs = self.runs(folder)
        done = [run for run in runs if (run / "done").exists()]
        if not done:
            return {}
        failed = {run: (run / FAILED).read_text().strip() for run in runs if (run / FAILED).exists()}
        runs_table, curves = export_runs(done, self.columns, failed if self.may_diverge else None)
        return as_files(runs_table, curves if self.curves else None, results / self.to)

    def _is_settled(self, run: Path) -> bool:
        return (run / "done").exists() or (self.may_diverge and (run / FAILED).exists())


@cache
def _plan(
    fixed: tuple[str, ...], overrides: tuple[tuple[str, ...], ...], output: Path
) -> dict[Path, list[str]]:
    runs = {}
    for own in overrides:
        runs.update(plan([*fixed, *own, *WORKER], output))
    return runs
