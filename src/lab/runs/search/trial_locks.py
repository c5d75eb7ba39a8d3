"""Locks of trials, so that no two askers train the same trial.

One asker locks the whole folder of a search, or many askers lock single trials on a server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ilc.errors import UserError
from lab.files.locked import lock

if TYPE_CHECKING:
    from lab.runs.search.server import Server


class TrialLocks(Protocol):
    """The locks that an asker has."""

    def while_no_other_begins(self) -> AbstractContextManager[None]:
        """Inside the ``with`` block, no other asker begins a trial."""

    def lock(self, number: int) -> bool:
        """Lock a trial; return False if another asker has locked it."""

    def unlock(self, number: int) -> None:
        """Unlock a trial."""

    def check_still_held(self) -> None:
        """Check that this asker still has its locks.

        Raises:
            UserError: the locks are lost.
        """


class FolderLock:
    """The lock of a whole folder: its asker is the only one, and has every trial.

    Raises:
        UserError: another process has the folder, or it cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        try:
            descriptor = lock(folder)
        except OSError as error:
            raise UserError(f"cannot use {folder}: {error.strerror}. Choose another with --output") from error
        if descriptor is None:
            raise UserError(
                f"another process searches in {folder}: wait until it ends, choose another --output, or keep "
                "the trials on a server (--storage), which several processes can use"
            )
        self._descriptor = descriptor

    def close(self) -> None:
        """Unlock the folder."""
        os.close(self._descriptor)

    @contextmanager
    def while_no_other_begins(self) -> Iterator[None]:
        """Do nothing: there is no other asker."""
        yield

    def lock(self, number: int) -> bool:
        """Return True: this asker has every trial."""
        return True

    def unlock(self, number: int) -> None:
        """Do nothing: the folder stays locked."""

    def check_still_held(self) -> None:
        """Do nothing: the system keeps the lock as long as this process lives."""


class ServerLocks:
    """Locks of single trials on a server, which many askers use at a time."""

    def __init__(self, server: Server, name: str) -> None:
        self._server, self._key = server, f"ilc: search {name}"

    def while_no_other_begins(self) -> AbstractContextManager[None]:
        """Wait until no other asker begins a trial of this search."""
        return self._server.while_no_other_begins(self._key)

    def lock(self, number: int) -> bool:
        """Lock a trial on the server."""
        return self._server.lock(self._key, number)

    def unlock(self, number: int) -> None:
        """Unlock a trial on the server."""
        self._server.unlock(self._key, number)

    def check_still_held(self) -> None:
        """Check that the connection, and with it every lock, still exists."""
        self._server.check_still_held()
