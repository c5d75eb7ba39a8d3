"""The loop of a search: trials to workers, results to the storage, until there are enough."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ilc.errors import UserError
from lab.machine.stop_signals import finish_first, heed
from lab.runs.one_run.run_files import LOG
from lab.runs.pool.jobs import Place, open_pool
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.pool.pool import Pool
from lab.runs.search.asker import Asker
from lab.runs.search.definition import Definition
from lab.runs.search.trial import Result, check_overrides, folder_of

if TYPE_CHECKING:
    from lab.runs.search.server import Server

LOOK = 1.0
"""Seconds between looks for what other askers have done, by an asker that has nothing to do."""


def search(
    definition: Definition,
    folder: Path,
    place: Place,
    progress: JobsProgress | None = None,
    server: Server | None = None,
) -> None:
    """Complete trials until there are as many as the definition asks for.

    Args:
        definition: what is searched.
        folder: of the run folders; killed at any moment, the same call goes on.
        place: how many trials are trained at a time here, with one core each, or the cluster.
        progress: advanced by one for every trial that counts; None for one of its own.
        server: what keeps the trials, for several calls at a time; None for a file in the folder.

    Raises:
        HydraException: an override that does not fit the config.
        UserError: too many trials failed, one could not be written, another process searches there.
        Stopped: a signal asked for it; the trials under way have written their checkpoints.
    """
    check_overrides(definition)
    with finish_first(), Asker(definition, folder, server) as asker, open_pool(place) as pool:
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
    counted = asker.n_complete
    while True:
        while pool.has_room and (trial := asker.next()) is not None:
            pool.start(trial.job(definition, folder))
        for _ in range(asker.n_complete - counted):
            progress.advance(asker.describe())
            counted += 1
        progress.show(asker.describe())
        if pool.n_busy:
            for name, result in pool.wait():
                if isinstance(result, UserError):
                    raise result
                asker.tell(int(name), result)
        elif asker.others_train:  # If their askers die, their trials are ours.
            time.sleep(LOOK)
            heed()
        else:
            return
