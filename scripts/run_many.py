"""Several runs at a time, one core each: what ``python src/train.py -m`` does one after another.

    python scripts/run_many.py experiment=spirals tuned=searched/spirals_l1 'seed=range(0,50)' --workers 2

Takes the same overrides and writes the same run folders. Runs that are done are skipped, begun ones go on,
one that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import threading
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ilc.configuration.command_line import run_command
from ilc.configuration.compose import combinations, command_of, compose_config, compose_experiment
from ilc.configuration.resolve import run_name
from ilc.errors import UserError
from ilc.runs import run

ROOT = Path(__file__).parents[1]

# A run has one core; neither changes its numbers.
RUNNER = ("threads=1", "logger=none")


def main() -> None:
    """Make all runs that are not done yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("overrides", nargs="+", help="as for src/train.py -m")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--output", type=Path, default=ROOT / "outputs", help="folder of the run folders")
    arguments = parser.parse_intermixed_args()
    runs = plan(arguments.overrides, arguments.output)
    failures = make(runs, arguments.workers)
    print(f"{len(runs) - len(failures)} of {len(runs)} runs are done, under {arguments.output}")
    if failures:
        raise UserError(f"{len(failures)} runs failed. The first one, {failures[0]}")


def plan(overrides: list[str], output: Path) -> dict[Path, list[str]]:
    """Run folder -> its overrides; combinations that name one and the same run count once."""
    runs = {}
    for combination in combinations([*overrides, *RUNNER]):
        runs[output / run_name(compose_config(combination))] = combination
    return runs


def make(runs: dict[Path, list[str]], n_workers: int) -> list[str]:
    """Train; return the messages of those that failed."""
    if n_workers < 1:
        raise UserError(f"--workers must be at least 1, got {n_workers}")
    # A fresh interpreter per worker: a copy of one that runs threads may hang.
    context = multiprocessing.get_context("spawn")
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    failures = []
    with ProcessPoolExecutor(n_workers, context, die_with_parent) as pool, Progress(*columns) as progress:
        waiting: dict[Future[None], Path] = {pool.submit(one, *item): item[0] for item in runs.items()}
        for future in progress.track(as_completed(waiting), total=len(waiting)):
            try:
                future.result()
            except UserError as error:
                failures.append(f"{waiting[future]}: {error}")
    return failures


def die_with_parent() -> None:
    """End this worker when the command is killed, which cannot tell it any more."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def one(folder: Path, overrides: list[str]) -> None:
    """One run, in a worker; what it prints goes to its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("a") as log, redirect_stdout(log), redirect_stderr(log):
        run(compose_experiment(overrides, sweep=True), folder, command_of(overrides, sweep=True))


if __name__ == "__main__":
    run_command(main)
