"""Sweeps: overrides with several values make one run for every combination, each in its own folder."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ilc.errors import UserError
from lab.configuration.command_line import print_error, readable
from lab.configuration.compose import combinations, command_of, compose_config, compose_run, tuned_settings
from lab.configuration.overrides import key_of
from lab.configuration.resolve import resolve, run_name
from lab.files.locked import lock
from lab.runs.one_run.run_files import LOG
from lab.runs.one_run.runner import run
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import WorkersOrCluster, run_jobs
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.sweep.foreign_options import check_added_options, leave_out_foreign_options

WORKER = ("threads=1", "logger=none")
"""Overrides of every run in a worker, which has one core. They do not change the numbers of the run."""

SECONDS_TO_DIE = 5
"""How long a command waits for the worker of an earlier command that was killed."""


def is_replaced(override: str) -> bool:
    """Whether ``WORKER`` would replace an override. One that says the same is not replaced."""
    return override not in WORKER and key_of(override).partition(".")[0] in map(key_of, WORKER)


def check_keys_of_workers(overrides: Sequence[str]) -> None:
    """Refuse overrides that ``WORKER`` would replace. Those that say the same are fine.

    Raises:
        UserError: an override sets the threads or the logger of a worker.
    """
    for text in overrides:
        if is_replaced(text):
            raise UserError(
                f"{text} is not read here, because every worker has {' and '.join(WORKER)}: leave it out, or "
                "make the runs one by one with src/train.py -m"
            )


def plan(overrides: Sequence[str], output: Path) -> dict[Path, list[str]]:
    """Run folder -> the overrides of its run. Combinations that give the same run count once.

    Args:
        overrides: overrides as on the command line of ``src/train.py -m``.
        output: the folder of the run folders.

    Raises:
        HydraException, UserError: an override does not fit the config.
    """
    if any(key_of(text) == "hydra.run.dir" for text in overrides):
        raise UserError(
            "hydra.run.dir names the folder of one run, and here every run has a folder of its own: name the "
            "folder for all of them with hydra.sweep.dir=FOLDER (src/train.py -m) or --output (run_many.py)"
        )
    if any(key_of(text) == "hydra.sweep.dir" for text in overrides):
        raise UserError(
            "hydra.sweep.dir is not read here: name the folder of all runs with --output FOLDER "
            "(run_many.py), or, without a plus sign, with hydra.sweep.dir=FOLDER (src/train.py -m)"
        )
    runs = {}
    every = leave_out_foreign_options(combinations(overrides))
    check_added_options(every)
    for own in every:
        runs[output / run_name(compose_run(own))] = own
    return runs


def train(overrides: Sequence[str], folder: Path, sweep: bool = False) -> dict[str, Any]:
    """Make the run of these overrides, or continue it, or do nothing if it is done; return its summary.

    Args:
        overrides: the overrides of one run.
        folder: the folder of the run.
        sweep: whether the recorded command is that of a sweep (``-m``).

    Raises:
        HydraException: an override does not fit the config.
        UserError: another error that the user can mend.
    """
    _wait_for_the_dying(folder)
    config = compose_config(overrides)
    said = tuned_settings(config.hydra.runtime.choices)
    if said is not None:
        print(said)
    return run(resolve(config, sweep), folder, command_of(overrides, sweep))


def attempt(overrides: Sequence[str], folder: Path, sweep: bool = False) -> dict[str, Any] | str:
    """Make a run as ``train`` does; a run that fails returns its message, so that other runs go on.

    Only a run that diverged keeps its message (``DivergedError``).

    Raises:
        HydraException: an override does not fit the config.
        UserError: an error of the system, for example a full disk.
    """
    try:
        return train(overrides, folder, sweep)
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise
        print_error(str(error))  # Into its log.
        return str(error)


def attempt_whatever_happens(overrides: Sequence[str], folder: Path) -> dict[str, Any] | str:
    """Make a run as ``attempt`` does; a defect of the code also returns a message, so that other runs go on.

    The traceback of the defect is printed. The same command tries the run again.

    Raises:
        UserError, OSError: an error of the system, for example a full disk.
    """
    try:
        return attempt(overrides, folder, sweep=True)
    except (UserError, OSError):
        raise
    except Exception as error:
        traceback.print_exc()  # Into its log.
        return _in_one_line(error)


def make(
    runs: Mapping[Path, Sequence[str]], workers: WorkersOrCluster, progress: JobsProgress
) -> dict[Path, str]:
    """Make many runs at a time, each with one core. The output of a run goes to ``LOG`` in its folder.

    Args:
        runs: the runs that ``plan`` returned, with ``WORKER`` among their overrides.
        workers: the number of runs at a time on this machine, or the cluster.
        progress: is advanced by one for every run that ends.

    Returns:
        Folder -> message of each run that failed. The other runs were made.
    """
    jobs: list[Job[dict[str, Any] | str]] = [
        Job(str(folder), partial(attempt_whatever_happens, list(overrides), folder), folder / LOG)
        for folder, overrides in runs.items()
    ]
    failures = {}
    ended = run_jobs(jobs, workers)
    with closing(ended):
        for name, result in ended:
            if not isinstance(result, dict):
                failures[Path(name)] = str(result)
            progress.advance()
    return failures


def make_in_turn(runs: Mapping[Path, Sequence[str]]) -> dict[Path, str]:
    """Make the runs one after another in this process, with their number and their output on the terminal.

    Returns:
        Folder -> message of each run that failed. The other runs were made.
    """
    failures = {}
    for number, (folder, overrides) in enumerate(runs.items(), start=1):
        print(f"run {number} of {len(runs)}")
        try:
            train(overrides, folder, sweep=True)
        except UserError as error:
            failures[folder] = str(error)
            print_error(str(error))
        except Exception as error:
            logged = _add_to_log(folder, traceback.format_exc())
            # The system's errors, as of an unusable folder, say enough in one line.
            failures[folder] = readable(error) if isinstance(error, OSError) else _in_one_line(error, logged)
            if not logged and not isinstance(error, OSError):
                traceback.print_exc()
            print_error(failures[folder])
        print(folder.resolve())
    return failures


def _in_one_line(error: Exception, logged: bool = True) -> str:
    """One line about a defect of the code that ended a run, whose traceback is in its log or printed."""
    where = f"is in its {LOG}" if logged else "is printed above"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]} (the traceback {where})"


def _add_to_log(folder: Path, text: str) -> bool:
    """Add a text to the log of a run, and say whether that worked: the folder may be unusable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOG).open("a") as file:
            file.write(text)
    except OSError:
        return False
    return True


def _wait_for_the_dying(folder: Path) -> None:
    """Wait until the worker of a killed command has ended, which takes a moment longer than the command.

    Raises:
        UserError: another process still uses the folder. This is not the fault of the run.
    """
    for _ in range(10 * SECONDS_TO_DIE):
        descriptor = lock(folder)
        if descriptor is not None:
            os.close(descriptor)
            return
        time.sleep(0.1)
    raise UserError(f"another process is training in {folder}: wait until it ends") from BlockingIOError()
