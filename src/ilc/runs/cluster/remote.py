"""What a node of a cluster does with a job."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from submitit.core.utils import DelayedSubmission, UncompletedJobError

from ilc.runs.worker_process import do


@dataclass(frozen=True)
class RemoteJob:
    """A job that can be cut off: asked again, it goes on, as everything that a ``Job`` calls does.

    Attributes:
        content: as ``Job.content`` made it.
    """

    content: bytes

    def __call__(self) -> bytes:
        """Do it; meanwhile what is printed goes to the job's log. Returns as ``do``."""
        own = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            # By these two submitit ends a job that timed out or is preempted.
            return do(self.content, passing=(SystemExit, UncompletedJobError))
        finally:
            sys.stdout.flush()
            for descriptor, mine in zip((1, 2), own, strict=True):
                os.dup2(mine, descriptor)
                os.close(mine)

    def checkpoint(self) -> DelayedSubmission:
        """What submitit puts back into the queue: the same once more."""
        return DelayedSubmission(self)
