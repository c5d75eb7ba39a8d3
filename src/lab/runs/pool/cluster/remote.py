"""The code that a node of a cluster runs for a job."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass

from submitit.core.utils import DelayedSubmission

from lab.machine.stop_signals import Stopped, listening, stop_requested
from lab.runs.pool.worker_process import do

WARNING = signal.SIGUSR2
"""The signal that Slurm sends before the time of a job is over or before the job is preempted."""


@dataclass(frozen=True)
class RemoteJob:
    """A job that can stop between two steps. Called again, it continues, as every call of a ``Job`` does.

    Attributes:
        content: the bytes that ``Job.content`` returned.
    """

    content: bytes

    def __call__(self) -> bytes:
        """Do the job, and return the bytes that ``do`` returns.

        Raises:
            Stopped: a signal asked for it, for example the signal of ``scancel``.
        """
        requeue = signal.getsignal(WARNING)
        with listening(WARNING):
            try:
                return self._logged()
            except Stopped:
                reason = stop_requested()
        if reason == WARNING.name and callable(requeue):
            # This call ends the process, and submitit puts the job into the queue again.
            requeue(WARNING, None)
        raise Stopped

    def _logged(self) -> bytes:
        """Do the job.

        Its output goes to its own log, and the output of submitit goes to the log of submitit.
        """
        own = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            return do(self.content)
        finally:
            sys.stdout.flush()
            for descriptor, mine in zip((1, 2), own, strict=True):
                os.dup2(mine, descriptor)
                os.close(mine)

    def checkpoint(self) -> DelayedSubmission:
        """The job that submitit puts into the queue again."""
        return DelayedSubmission(self)
