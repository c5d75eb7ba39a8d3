"""Worker processes on this machine. The laboratory uses several cores in this way only.

A worker is a new Python interpreter with one core. It is not a fork, because a fork of a process with
threads may hang. A worker does one job after another, and ends when the process that started it ends. When
that process is asked to stop, every worker finishes its step and writes its checkpoint.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ilc.errors import UserError
from lab.machine.stop_signals import STOPPED, Stopped, stop_if_requested
from lab.runs.pool.job import Job
from lab.runs.pool.worker_process import work

T = TypeVar("T")

LOOK = 0.2
"""Seconds between two checks whether a signal has asked to stop."""


class Workers(Generic[T]):
    """A pool of at most ``n`` processes. They start when there are jobs, and end with the ``with`` block.

    Raises:
        UserError: ``n`` is below 1.
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise UserError(f"--workers must be at least 1, got {n}")
        self._n = n
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, tuple[_Worker, Job[T]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        busy = [worker for worker, _ in self._busy.values()]
        if isinstance(error, Stopped):
            for worker in busy:
                worker.process.terminate()
                # A worker whose job has just ended would otherwise wait for the next job.
                worker.pipe.close()
            for worker in busy:
                worker.process.join()
        workers = [*self._idle, *busy]
        for worker in workers:
            worker.process.kill()  # Their files are written in one step, so killing a worker damages none.
        for worker in workers:
            worker.process.join()

    @property
    def n_busy(self) -> int:
        """The number of jobs that are under way."""
        return len(self._busy)

    @property
    def has_room(self) -> bool:
        """Whether another job can start."""
        return self.n_busy < self._n

    @property
    def queues(self) -> bool:
        """False: a job starts at once, or not at all."""
        return False

    def start(self, job: Job[T]) -> None:
        """Give the job to a worker. There must be room for it."""
        assert self.has_room, "wait until a job has ended"
        content = job.content()
        while True:
            worker = self._idle.pop() if self._idle else _Worker()
            try:
                worker.pipe.send_bytes(content)
            except OSError:  # It was killed from outside while it was idle.
                worker.process.join()
                continue
            self._busy[worker.pipe] = (worker, job)
            return

    def wait(self, seconds: float | None = None) -> list[tuple[str, T | UserError]]:
        """Wait until jobs have ended; return each name, with the result or the UserError that ended the job.

        Args:
            seconds: how long to wait for the first of them; None means without a limit.

        Raises:
            RuntimeError: a job raised another error than a UserError or an OSError, or could not be read.
            Stopped: a signal asked for it; see ``lab.machine.stop_signals.finish_first``.
        """
        ended: list[tuple[str, T | UserError]] = []
        for pipe in self._ready(seconds):
            assert isinstance(pipe, Connection)
            worker, job = self._busy.pop(pipe)
            try:
                result = pipe.recv_bytes()
            except (EOFError, OSError):
                ended.append((job.name, worker.lost()))
                continue
            self._idle.append(worker)
            ended.append((job.name, job.ended(result)))
        return ended

    def _ready(self, seconds: float | None) -> list[Any]:
        """Wait for jobs that have ended, and return their pipes."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            stop_if_requested()
            left = LOOK if until is None else max(0.0, min(LOOK, until - time.monotonic()))
            ready = wait(list(self._busy), left)
            if ready or not self._busy or (until is not None and time.monotonic() >= until):
                return ready


class _Worker:
    """A process, and the parent's end of the pipe to this process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: SpawnProcess = context.Process(target=work, args=(other,))
        self.process.start()
        other.close()  # The pipe then closes when the worker ends.

    def lost(self) -> UserError:
        """The error of a worker that has ended without a result."""
        self.process.join()
        status = self.process.exitcode
        how = "asked to stop" if status == STOPPED else "ended"
        why = "" if status == STOPPED else f" (exit status {status}, perhaps because memory was short)"
        return UserError(f"its process was {how} from outside{why}. Run the same command again to continue")
