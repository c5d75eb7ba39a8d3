"""Does a study, and writes its files."""

from __future__ import annotations

import time
from pathlib import Path

from ilc.errors import UserError
from lab.runs.pool.jobs import WorkersOrCluster
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.study_file import Study
from lab.runs.tables.export import write_results_files

WRITE_EVERY = 20.0
"""Finished rows are written again after this many times the seconds that the last writing took.

Writing thus costs little when many short jobs end, and the row of a long job does not wait.
"""


def make_study(study: Study, folder: Path, results: Path, workers: WorkersOrCluster) -> None:
    """Do the jobs of a study that are done neither in ``folder`` nor in the files in ``results``.

    Rows are written while the jobs end, and once more at the end, also if the study is stopped. After an
    interruption at any moment, the same call continues.

    Args:
        study: the study.
        folder: the folder of its runs, searches and measured parts.
        results: the folder of its files.
        workers: the number of jobs at a time on this machine, with one core each, or the cluster.

    Raises:
        HydraException, UserError: a step cannot be done, or jobs failed. The other jobs are done first.
    """
    counts = [step.count(folder, results) for step in study.steps]
    done, total = (sum(column) for column in zip(*counts, strict=True))
    failures = []
    writer = _Writer(study, folder, results)
    with JobsProgress(study.name, total, done, writer.write_now_and_then) as progress:
        try:
            for step in study.steps:
                failures += step.make(folder, results, workers, progress)
        finally:
            writer.write()
    if failures:
        raise UserError(f"{len(failures)} of {total} jobs failed:\n  " + "\n  ".join(failures))


def write_results(study: Study, folder: Path, results: Path) -> None:
    """Write the files below ``results`` from the jobs that are done, and print what is missing.

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
    """Writes the files of a study from the jobs that are done."""

    def __init__(self, study: Study, folder: Path, results: Path) -> None:
        self._study, self._folder, self._results = study, folder, results
        self._next = time.monotonic()

    def write_now_and_then(self) -> None:
        """Write the files, unless they were written a moment ago."""
        if time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Write the files now."""
        start = time.monotonic()
        for step in self._study.steps:
            files = step.contents(self._folder, self._results, self._study.unfinished)
            write_results_files(files, self._results)
        end = time.monotonic()
        self._next = end + WRITE_EVERY * (end - start)
