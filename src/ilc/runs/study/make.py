"""Doing a study, and writing the files that come of it."""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from ilc.runs.export import write_files
from ilc.runs.jobs import Place
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.study.definition import Study


def make_study(study: Study, folder: Path, place: Place) -> None:
    """Do all that is not done yet; interrupted at any moment, the same call goes on.

    Args:
        study: what has to be done.
        folder: where its runs, searches and measured parts lie.
        place: how many jobs at a time here, with one core each, or the cluster.

    Raises:
        HydraException, UserError: a step that cannot be done, or jobs that failed: the others are done first.
    """
    counts = [step.count(folder) for step in study.steps]
    done, total = (sum(column) for column in zip(*counts, strict=True))
    failures = []
    with JobsProgress(study.name, total, done) as progress:
        for step in study.steps:
            failures += step.make(folder, place, progress)
    if failures:
        raise UserError(f"{len(failures)} of {total} jobs failed:\n  " + "\n  ".join(failures))


def write_results(study: Study, folder: Path, results: Path) -> None:
    """Write the files below ``results`` that what is done comes to, and say what is missing.

    Raises:
        UserError: a file cannot be written.
    """
    for step in study.steps:
        done, total = step.count(folder)
        if done < total:
            print(f"{', '.join(step.files)}: {done} of {total} jobs are done, the others are left out")
        write_files(step.contents(folder, results))
