"""Doing a study, and writing the files that come of it."""

from __future__ import annotations

import time
from pathlib import Path

from ilc.errors import UserError
from lab.runs.pool.jobs import Place
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.definition import Study
from lab.runs.tables.export import write_results_files

WRITE_EVERY = 60.0
"""Seconds between two looks at what has been done meanwhile, to write it."""


def make_study(study: Study, folder: Path, results: Path, place: Place) -> None:
    """Do all that is not done yet, in ``folder`` or by the files in ``results``.

    Rows are added to the files as their jobs end, and once more when all have ended or something stops them.
    Interrupted at any moment, the same call goes on.

    Args:
        study: what has to be done.
        folder: where its runs, searches and measured parts lie.
        results: where its files are.
        place: how many jobs at a time here, with one core each, or the cluster.

    Raises:
        HydraException, UserError: a step that cannot be done, or jobs that failed: the others are done first.
    """
    counts = [step.count(folder, results) for step in study.steps]
    done, total = (sum(column) for column in zip(*counts, strict=True))
    failures = []
    writer = _Writer(study, folder, results)
    with JobsProgress(study.name, total, done, writer.write_now_and_then) as progress:
        try:
            for step in study.steps:
                failures += step.make(folder, results, place, progress)
        finally:
            writer.write()
    if failures:
        raise UserError(f"{len(failures)} of {total} jobs failed:\n  " + "\n  ".join(failures))


def write_results(study: Study, folder: Path, results: Path) -> None:
    """Write the files below ``results`` that what is done comes to, and say what is missing.

    Raises:
        UserError: a file cannot be written.
    """
    for step in study.steps:
        done, total = step.count(folder, results)
        if done < total:
            rest = "pending" if study.unfinished else "left out"
            print(f"{', '.join(step.files)}: {done} of {total} jobs are done, the others are {rest}")
        for path in write_results_files(step.contents(folder, results, study.unfinished), results):
            print(path)


class _Writer:
    """Writes the files of what is done."""

    def __init__(self, study: Study, folder: Path, results: Path) -> None:
        self._study, self._folder, self._results = study, folder, results
        self._last = time.monotonic()

    def write_now_and_then(self) -> None:
        """Write each time it is called, but not more often than ``WRITE_EVERY``."""
        if time.monotonic() - self._last >= WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """Write."""
        for step in self._study.steps:
            files = step.contents(self._folder, self._results, self._study.unfinished)
            write_results_files(files, self._results)
        self._last = time.monotonic()
