"""What a node of a cluster does with a job."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass

from submitit.core.utils import DelayedSubmission

from lab.machine.stop_signals import Stopped, asked, listening
from lab.runs.pool.worker_process import do

WARNING = signal.SIGUSR2
"""What submitit has Slurm send before a job's time is over, or before it is preempted."""


@dataclass(frozen=True)
class RemoteJob:
    """A job that can be stopped between two steps: asked again, it goes on, as all that a ``Job`` calls does.

    Attributes:
        content: as ``Job.content`` made it.
    """

    content: bytes

    def __call__(self) -> bytes:
        """Do it; returns as ``do``.

        Raises:
            Stopped: a signal asked for it, such as that of ``scancel``.
        """
        requeue = signal.getsignal(WARNING)
        with listening(WARNING):
            try:
                return self._logged()
            except Stopped:
                reason = asked()
        if reason == WARNING.name and callable(requeue):
            requeue(WARNING, None)  # It raises what ends this process in the way that submitit knows.
        raise Stopped

    def _logged(self) -> bytes:
        """What the job prints goes to its own log, what submitit prints to submitit's."""
        own = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            return do(self.content)
        finally:
            sys.stdout.flush()
            for descriptor, mine in zip((1, 2), own, strict=True):
                os.dup2(mine, descriptor)
                os.close(mine)

    def checkpoint(self) -> DelayedSubmission:
        """What submitit puts into the queue again."""
        return DelayedSubmission(self)
