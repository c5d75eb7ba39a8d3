"""One piece of work for a worker or for a node of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ilc.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """A call that another process makes.

    Attributes:
        name: the name by which its result is known.
        call: what is called, without arguments; the call and its result are pickled.
        log: file to which everything is added that the call prints; the file and its folder are made.
    """

    name: str
    call: Callable[[], T]
    log: Path

    def content(self) -> bytes:
        """The job as bytes, for ``lab.runs.pool.worker_process.do`` in another process."""
        return pickle.dumps((pickle.dumps(self.call), self.log))

    def ended(self, result: bytes) -> T | UserError:
        """Read the bytes that ``do`` returned: the value, or the UserError that ended the job.

        Raises:
            RuntimeError: the job raised another error than a UserError or an OSError.
        """
        kind, value = pickle.loads(result)
        if kind == "defect":
            raise RuntimeError(f"{self.name} failed, see {self.log}\n{value}")
        return UserError(value) if kind == "error" else value
