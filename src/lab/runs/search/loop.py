"""The loop of a search: it gives trials to workers and records their results, until there are enough."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ilc.errors import UserError
from lab.machine.stop_signals import finish_first, stop_if_requested
from lab.runs.one_run.run_files import LOG
from lab.runs.pool.jobs import WorkersOrCluster, open_pool
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.pool.pool import Pool
from lab.runs.search.asker import Asker
from lab.runs.search.search_definition import SearchDefinition
from lab.runs.search.trial import Result, check_overrides, folder_of

if TYPE_CHECKING:
    from lab.runs.search.server import Server

LOOK = 1.0
"""An asker that has nothing to do waits so many seconds before it looks at the trials of other askers."""


def search(
    definition: SearchDefinition,
    folder: Path,
    workers: WorkersOrCluster,
    progress: JobsProgress | None = None,
    server: Server | None = None,
) -> None:
    """Complete trials until there are as many as the definition asks for.

    Args:
        definition: the search.
        folder: the folder of the run folders. After a kill at any moment, the same call continues.
        workers: the number of trials at a time on this machine, with one core each, or the cluster.
        progress: is advanced by one for every trial that counts; None makes a new one.
        server: the server that keeps the trials, for several calls at a time; None for a file in the folder.

    Raises:
        HydraException: an override does not fit the config.
        UserError: too many trials failed, a trial could not be written, or another process searches there.
        Stopped: a signal asked for it. The trials under way have written their checkpoints.
    """
    check_overrides(definition)
    with finish_first(), Asker(definition, folder, server) as asker, open_pool(workers) as pool:
        if progress is None:
            with JobsProgress(definition.name, definition.trials, asker.n_complete) as own:
                _complete(asker, pool, definition, folder, own)
        else:
            _complete(asker, pool, definition, folder, progress)
        for number, message in asker.failures.items():
            print(f"trial {number} failed: {message} (log: {folder_of(folder, number) / LOG})")


def _complete(
    asker: Asker, pool: Pool[Result], definition: SearchDefinition, folder: Path, progress: JobsProgress
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
        elif asker.others_train:  # If other askers die, this one trains their trials.
            time.sleep(LOOK)
            stop_if_requested()
        else:
            return
