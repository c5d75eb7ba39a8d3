"""One process at a time in a folder: locks that the system lets go of however their process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(folder: Path, wait: bool = False) -> int | None:
    """Lock a folder, made if it is not there, until the descriptor that is returned is closed.

    None when somebody else has it, which may be this process; with ``wait`` it comes back later instead.

    Raises:
        OSError: the folder cannot be made or opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(folder: Path) -> bool:
    """Whether some process has the folder locked at this moment; looking keeps none of them out for longer.

    Raises:
        OSError: the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait for a folder and have it to oneself.

    Raises:
        OSError: the folder cannot be made or opened.
    """
    descriptor = lock(folder, wait=True)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)
