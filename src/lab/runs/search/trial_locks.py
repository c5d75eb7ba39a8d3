"""Which asker trains which trial: one asker has the whole folder, or a server says who has what."""

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
    """What an asker has to itself."""

    def while_no_other_begins(self) -> AbstractContextManager[None]:
        """Begin trials while no other asker does."""

    def lock(self, number: int) -> bool:
        """Claim a trial; False when another asker has it."""

    def unlock(self, number: int) -> None:
        """Give a trial back."""

    def check_still_held(self) -> None:
        """Make sure that the claims still hold.

        Raises:
            UserError: they are lost.
        """


class FolderLock:
    """The only asker of a folder, which has every trial.

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
                "the trials on a server (--storage), which many may ask"
            )
        self._descriptor = descriptor

    def close(self) -> None:
        """Let others have the folder."""
        os.close(self._descriptor)

    @contextmanager
    def while_no_other_begins(self) -> Iterator[None]:
        """As ``TrialLocks``."""
        yield

    def lock(self, number: int) -> bool:
        """As ``TrialLocks``."""
        return True

    def unlock(self, number: int) -> None:
        """As ``TrialLocks``."""

    def check_still_held(self) -> None:
        """As ``TrialLocks``."""


class ServerLocks:
    """One of the askers of a search whose trials are on a server."""

    def __init__(self, server: Server, name: str) -> None:
        self._server, self._key = server, f"ilc: search {name}"

    def while_no_other_begins(self) -> AbstractContextManager[None]:
        """As ``TrialLocks``."""
        return self._server.while_no_other_begins(self._key)

    def lock(self, number: int) -> bool:
        """As ``TrialLocks``."""
        return self._server.lock(self._key, number)

    def unlock(self, number: int) -> None:
        """As ``TrialLocks``."""
        self._server.unlock(self._key, number)

    def check_still_held(self) -> None:
        """As ``TrialLocks``."""
        self._server.check_still_held()
