"""Locks that give a folder to one process at a time. The system releases a lock when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(folder: Path, wait: bool = False) -> int | None:
    """Lock a folder until the returned file descriptor is closed. The folder is made if it does not exist.

    Returns None if the folder is already locked, by this process or by another one. With ``wait`` the
    function waits instead until the lock is free.

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
    """Whether a process has the folder locked at this moment.

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
    """Wait until the folder is free, and lock it during the ``with`` block.

    Raises:
        OSError: the folder cannot be made or opened.
    """
    descriptor = lock(folder, wait=True)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)
