"""Many jobs at a time, by workers on this machine or on the nodes of a cluster."""

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

WorkersOrCluster = int | Cluster
"""The number of workers on this machine, or the cluster that does the jobs."""


def open_pool(workers: WorkersOrCluster) -> Pool[Any]:
    """Make the pool that does the jobs.

    Raises:
        UserError: the number of workers is below 1, or this machine does not have such a cluster.
    """
    if isinstance(workers, int):
        return Workers[Any](workers)
    from lab.runs.pool.cluster.cluster_pool import ClusterPool

    return ClusterPool[Any](workers)


def run_jobs(
    jobs: Iterable[Job[T]], workers: WorkersOrCluster
) -> Generator[tuple[str, T | UserError], None, None]:
    """Do all jobs; yield the name of each job when it ends, with its result or its UserError.

    Use the generator within ``contextlib.closing``, so that leaving the loop early also ends the jobs.

    Raises:
        UserError, RuntimeError, Stopped: as in ``open_pool`` and ``Pool.wait``.
    """
    with finish_first(), open_pool(workers) as pool:
        for job in jobs:
            while not (pool.has_room or pool.queues):
                yield from pool.wait()
            pool.start(job)
        while pool.n_busy:
            yield from pool.wait()
