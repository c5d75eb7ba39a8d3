"""Jobs side by side, wherever that is: workers on this machine, or a cluster's nodes."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from ilc.errors import UserError
from lab.machine.stop_signals import finish_first
from lab.runs.pool.cluster.options import Cluster
from lab.runs.pool.job import Job
from lab.runs.pool.pool import Pool
from lab.runs.pool.workers import Workers

T = TypeVar("T")

Place = int | Cluster
"""How many workers on this machine, or the cluster that does the jobs."""


def open_pool(place: Place) -> Pool[Any]:
    """Where jobs are done.

    Raises:
        UserError: no worker at all, or no such cluster here.
    """
    if isinstance(place, int):
        return Workers[Any](place)
    from lab.runs.pool.cluster.cluster_pool import ClusterPool

    return ClusterPool[Any](place)


def run_jobs(jobs: Iterable[Job[T]], place: Place) -> Generator[tuple[str, T | UserError], None, None]:
    """Do all jobs and yield the name and result, or UserError, of each as it ends.

    Use it within ``contextlib.closing``: what leaves the loop early then takes the jobs along.

    Raises:
        UserError, RuntimeError, Stopped: as ``open_pool`` and ``Pool``.
    """
    with finish_first(), open_pool(place) as pool:
        for job in jobs:
            while not (pool.has_room or pool.queues):
                yield from pool.wait()
            pool.start(job)
        while pool.n_busy:
            yield from pool.wait()
