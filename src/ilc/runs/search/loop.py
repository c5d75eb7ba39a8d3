"""The loop of a search: trials to workers, results to the storage, until there are enough."""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from ilc.runs.jobs import Place, Pool, open_pool
from ilc.runs.jobs_progress import JobsProgress
from ilc.runs.search.asker import Asker
from ilc.runs.search.definition import Definition
from ilc.runs.search.trial import Result, check_overrides, folder_of
from ilc.runs.sweep import LOG


def search(definition: Definition, folder: Path, place: Place, progress: JobsProgress | None = None) -> None:
    """Complete trials in ``folder`` until there are as many as the definition asks for.

    Args:
        definition: what is searched.
        folder: the search's; killed at any moment, the same call goes on.
        place: how many trials are trained at a time here, with one core each, or the cluster.
        progress: advanced by one for every trial that counts; None for one of its own.

    Raises:
        HydraException: an override that does not fit the config.
        UserError: too many trials failed, one could not be written, another process searches there.
    """
    check_overrides(definition)
    with Asker(definition, folder) as asker, open_pool(place) as pool:
        if progress is None:
            with JobsProgress(definition.name, definition.trials, asker.n_complete) as own:
                _complete(asker, pool, definition, folder, own)
        else:
            _complete(asker, pool, definition, folder, progress)
        for number, message in asker.failures.items():
            print(f"trial {number} failed: {message} (log: {folder_of(folder, number) / LOG})")


def _complete(
    asker: Asker, pool: Pool[Result], definition: Definition, folder: Path, progress: JobsProgress
) -> None:
    while True:
        while pool.has_room and (trial := asker.next()) is not None:
            pool.start(trial.job(definition, folder))
        progress.show(asker.describe())
        if pool.n_busy == 0:
            return
        for name, result in pool.wait():
            if isinstance(result, UserError):
                raise result
            if asker.tell(int(name), result):
                progress.advance(asker.describe())
