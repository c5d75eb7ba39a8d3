"""The loop of a search: trials to workers, results to the storage, until there are enough."""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.search.asker import Asker
from ilc.runs.search.definition import Definition
from ilc.runs.search.trial import Result, check_overrides
from ilc.runs.workers import Workers


def search(
    definition: Definition, folder: Path, n_workers: int, progress: JobsProgress | None = None
) -> None:
    """Complete trials in ``folder`` until there are as many as the definition asks for.

    Args:
        definition: what is searched.
        folder: the search's; killed at any moment, the same call goes on.
        n_workers: how many trials are trained at a time, with one core each.
        progress: advanced by one for every trial that counts; None for one of its own.

    Raises:
        HydraException: an override that does not fit the config.
        UserError: too many trials failed, one could not be written, another process searches there.
    """
    check_overrides(definition)
    with Asker(definition, folder) as asker, Workers[Result](n_workers) as workers:
        if progress is None:
            with JobsProgress(definition.name, definition.trials, asker.n_complete) as own:
                _complete(asker, workers, definition, folder, own)
        else:
            _complete(asker, workers, definition, folder, progress)


def _complete(
    asker: Asker, workers: Workers[Result], definition: Definition, folder: Path, progress: JobsProgress
) -> None:
    while True:
        while workers.has_room and (trial := asker.next()) is not None:
            workers.start(trial.job(definition, folder))
        progress.show(asker.describe())
        if workers.n_busy == 0:
            return
        for name, result in workers.wait():
            if isinstance(result, UserError):
                raise result
            if asker.tell(int(name), result):
                progress.advance(asker.describe())
