"""The jobs that Slurm has under way. The queue is asked, because not every Slurm has accounting."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable


def queued() -> set[str] | None:
    """The numbers of the user's jobs that wait or run: ``12``, or ``12_3`` in an array.

    None if Slurm does not answer.
    """
    command = ["squeue", "--me", "--array", "--noheader", "--format=%i"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(done.stdout.split())


def cancel(numbers: Iterable[str]) -> None:
    """Take jobs out of the queue, and end those that run. Jobs that have ended are ignored."""
    wanted = list(numbers)
    if wanted:
        subprocess.run(["scancel", "--quiet", *wanted], check=False, timeout=60)
