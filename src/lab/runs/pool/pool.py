"""What every pool can do: the workers of this machine, and the nodes of a cluster."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, TypeVar

from ilc.errors import UserError
from lab.runs.pool.job import Job

T = TypeVar("T")


class Pool(Protocol[T]):
    """Something that does jobs. The jobs that it has started end with its ``with`` block.

    When ``Stopped`` ends the block, the jobs under way first finish their step and write a checkpoint.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def n_busy(self) -> int:
        """The number of jobs that are under way."""

    @property
    def has_room(self) -> bool:
        """Whether another job can start at once."""

    @property
    def queues(self) -> bool:
        """Whether the pool also takes jobs when it has no room: they then wait in its own queue."""

    def start(self, job: Job[T]) -> None:
        """Take a job."""

    def wait(self) -> list[tuple[str, T | UserError]]:
        """Wait until jobs have ended; return each name, with the result or the UserError that ended the job.

        Raises:
            RuntimeError: a job raised another error than a UserError or an OSError.
            Stopped: a signal asked this command to stop; see ``lab.machine.stop_signals.finish_first``.
        """
