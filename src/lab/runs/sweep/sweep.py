"""Sweeps: every combination of overrides that name several values, each in a run folder of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ilc.errors import UserError
from lab.configuration.compose import combinations, command_of, compose_config, tuned_settings
from lab.configuration.resolve import resolve, run_name
from lab.files.atomic import write_text
from lab.files.locked import lock
from lab.runs.one_run.run_files import FAILED, LOG
from lab.runs.one_run.runner import run
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import Place, run_jobs
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.sweep.foreign_options import leave_out_foreign_options

WORKER = ("threads=1", "logger=none")
"""Overrides of every run in a worker, which has one core; neither changes its numbers."""

SECONDS_TO_DIE = 5


def plan(overrides: Sequence[str], output: Path) -> dict[Path, list[str]]:
    """Run folder -> its overrides; combinations that name one and the same run count once.

    Args:
        overrides: as on the command line of ``src/train.py -m``.
        output: folder of the run folders.

    Raises:
        HydraException, UserError: an override that does not fit.
    """
    runs = {}
    for combination in combinations(overrides):
        own = leave_out_foreign_options(combination)
        runs[output / run_name(compose_config(own))] = own
    return runs


def train(overrides: Sequence[str], folder: Path, sweep: bool = False) -> dict[str, Any]:
    """Make the run of these overrides, or continue it, or do nothing when it is done; return its summary.

    Args:
        overrides: of one run.
        folder: its folder.
        sweep: whether the recorded command is one of a sweep (``-m``).

    Raises:
        HydraException: an override that does not fit.
        UserError: anything else a user can mend.
    """
    _wait_for_the_dying(folder)
    config = compose_config(overrides)
    said = tuned_settings(config.hydra.runtime.choices)
    if said is not None:
        print(said)
    return run(resolve(config, sweep), folder, command_of(overrides, sweep))


def attempt(overrides: Sequence[str], folder: Path, sweep: bool = False) -> dict[str, Any] | str:
    """As ``train``, but a run that fails by its own fault (it diverged) returns its message.

    The message is kept in ``FAILED``.

    Raises:
        HydraException: an override that does not fit.
        UserError: not the run's fault, such as a full disk.
    """
    note = folder / FAILED
    try:
        summary = train(overrides, folder, sweep)
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise
        write_text(note, f"{error}\n")
        print(f"Error: {error}", file=sys.stderr)  # Into its log.
        return str(error)
    note.unlink(missing_ok=True)
    return summary


def attempt_whatever_happens(overrides: Sequence[str], folder: Path) -> dict[str, Any] | str:
    """As ``attempt``, but a defect of the code returns a message too: the other runs of the sweep go on.

    Its traceback is printed, and the same command tries again.

    Raises:
        UserError, OSError: not the run's fault, such as a full disk.
    """
    try:
        return attempt(overrides, folder, sweep=True)
    except (UserError, OSError):
        raise
    except Exception as error:
        traceback.print_exc()  # Into its log.
        return _in_one_line(error)


def make(runs: Mapping[Path, Sequence[str]], place: Place, progress: JobsProgress) -> dict[Path, str]:
    """Make the runs side by side, each with one core; what a run prints goes to ``LOG`` in its folder.

    Args:
        runs: as ``plan`` returns them, with ``WORKER`` among the overrides.
        place: how many at a time here, or the cluster.
        progress: advanced by one for every run that ends.

    Returns:
        Folder -> message of those that failed; the others were made all the same.
    """
    jobs: list[Job[dict[str, Any] | str]] = [
        Job(str(folder), partial(attempt_whatever_happens, list(overrides), folder), folder / LOG)
        for folder, overrides in runs.items()
    ]
    failures = {}
    ended = run_jobs(jobs, place)
    with closing(ended):
        for name, result in ended:
            if not isinstance(result, dict):
                failures[Path(name)] = str(result)
            progress.advance()
    return failures


def make_in_turn(runs: Mapping[Path, Sequence[str]]) -> dict[Path, str]:
    """Make the runs one after another in this process, which counts them and shows what they print.

    Returns:
        As ``make``.
    """
    failures = {}
    for number, (folder, overrides) in enumerate(runs.items(), start=1):
        print(f"run {number} of {len(runs)}")
        try:
            train(overrides, folder, sweep=True)
        except UserError as error:
            failures[folder] = str(error)
            print(f"Error: {error}", file=sys.stderr)
        except Exception as error:
            failures[folder] = _in_one_line(error)
            _add_to_log(folder, traceback.format_exc())
            print(f"Error: {failures[folder]}", file=sys.stderr)
        print(folder.resolve())
    return failures


def _in_one_line(error: Exception) -> str:
    """What ended a run that nobody foresaw."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]} (the traceback is in its {LOG})"


def _add_to_log(folder: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # The message has been told, and the folder may be why.
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOG).open("a") as file:
            file.write(text)


def _wait_for_the_dying(folder: Path) -> None:
    """Give the worker of a killed command the moment by which it outlives the command.

    Raises:
        UserError: the folder is still in use, which is not the run's fault.
    """
    for _ in range(10 * SECONDS_TO_DIE):
        descriptor = lock(folder)
        if descriptor is not None:
            os.close(descriptor)
            return
        time.sleep(0.1)
    raise UserError(f"another process is training in {folder}: wait until it ends") from BlockingIOError()
