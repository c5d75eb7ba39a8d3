"""Jobs side by side, wherever that is: workers on this machine, or a cluster's nodes."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from ilc.errors import UserError
from lab.machine.stop_signals import finish_first
from lab.runs.cluster.options import Cluster
from lab.runs.workers import Job, Workers

T = TypeVar("T")

Place = int | Cluster
"""How many workers on this machine, or the cluster that does the jobs."""


class Pool(Protocol[T]):
    """Something that does jobs; what it has begun ends with its ``with`` block.

    When ``Stopped`` ends the block, jobs that are under way first finish their step and write a checkpoint.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def n_busy(self) -> int:
        """How many jobs are under way."""

    @property
    def has_room(self) -> bool:
        """Whether another job can start at once."""

    @property
    def queues(self) -> bool:
        """Whether jobs may also be given to it when there is no room: they wait in a queue of its own."""

    def start(self, job: Job[T]) -> None:
        """Take a job on."""

    def wait(self) -> list[tuple[str, T | UserError]]:
        """The jobs that have ended, by name, with what they returned or the UserError that ended them.

        Raises:
            RuntimeError: a job raised anything but a UserError or OSError.
            Stopped: a signal has asked for it, within ``lab.machine.stop_signals.finish_first``.
        """


def open_pool(place: Place) -> Pool[Any]:
    """Where jobs are done.

    Raises:
        UserError: no worker at all, or no such cluster here.
    """
    if isinstance(place, int):
        return Workers[Any](place)
    from lab.runs.cluster.pool import ClusterPool

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
