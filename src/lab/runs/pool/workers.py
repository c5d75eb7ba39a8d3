"""Processes that work side by side: the one way in which several cores are used.

A worker is a fresh interpreter, because a copy of one that runs threads may hang, and has one core. It
does one job after another and dies with the process that started it, however that dies. When that one is
asked to stop, so are they: each finishes its step and writes its checkpoint.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ilc.errors import UserError
from lab.machine.stop_signals import STOPPED, Stopped, heed
from lab.runs.pool.job import Job
from lab.runs.pool.worker_process import work

T = TypeVar("T")

LOOK = 0.2
"""Seconds between looks whether a signal has asked to stop."""


class Workers(Generic[T]):
    """At most ``n`` processes, started when there is something to do and ended with the ``with`` block.

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
                worker.pipe.close()  # One whose job ended meanwhile would wait for the next.
            for worker in busy:
                worker.process.join()
        workers = [*self._idle, *busy]
        for worker in workers:
            worker.process.kill()  # What they write survives being killed at any moment.
        for worker in workers:
            worker.process.join()

    @property
    def n_busy(self) -> int:
        """How many jobs are under way."""
        return len(self._busy)

    @property
    def has_room(self) -> bool:
        """Whether another job can start."""
        return self.n_busy < self._n

    @property
    def queues(self) -> bool:
        """As ``Pool``: no."""
        return False

    def start(self, job: Job[T]) -> None:
        """Give the job to a worker; there must be room."""
        assert self.has_room, "wait until a job has ended"
        content = job.content()
        while True:
            worker = self._idle.pop() if self._idle else _Worker()
            try:
                worker.pipe.send_bytes(content)
            except OSError:  # Killed from outside while it had nothing to do.
                worker.process.join()
                continue
            self._busy[worker.pipe] = (worker, job)
            return

    def wait(self, seconds: float | None = None) -> list[tuple[str, T | UserError]]:
        """The jobs that have ended, by name, with what they returned or the UserError that ended them.

        Args:
            seconds: how long to wait for the first; None for as long as it takes.

        Raises:
            RuntimeError: a job raised anything but a UserError or OSError, or could not be read.
            Stopped: a signal has asked for it, within ``lab.machine.stop_signals.finish_first``.
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
        """The pipes of jobs that have ended."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            heed()
            left = LOOK if until is None else max(0.0, min(LOOK, until - time.monotonic()))
            ready = wait(list(self._busy), left)
            if ready or not self._busy or (until is not None and time.monotonic() >= until):
                return ready


class _Worker:
    """A process and the parent's end of the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: SpawnProcess = context.Process(target=work, args=(other,))
        self.process.start()
        other.close()  # So that the pipe ends with the worker.

    def lost(self) -> UserError:
        """Why it has ended without a result."""
        self.process.join()
        status = self.process.exitcode
        how = "asked to stop" if status == STOPPED else "ended"
        why = "" if status == STOPPED else f" (exit status {status}; was memory short?)"
        return UserError(f"its process was {how} from outside{why}. The same command continues")
