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


class Claims(Protocol):
    """What an asker has to itself."""

    def turn(self) -> AbstractContextManager[None]:
        """Begin trials while no other asker does."""

    def take(self, number: int) -> bool:
        """Claim a trial; False when another asker has it."""

    def let_go(self, number: int) -> None:
        """Give a trial back."""

    def check(self) -> None:
        """Make sure that the claims still hold.

        Raises:
            UserError: they are lost.
        """


class OneAsker:
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
    def turn(self) -> Iterator[None]:
        """As ``Claims``."""
        yield

    def take(self, number: int) -> bool:
        """As ``Claims``."""
        return True

    def let_go(self, number: int) -> None:
        """As ``Claims``."""

    def check(self) -> None:
        """As ``Claims``."""


class OneOfMany:
    """One of the askers of a search whose trials are on a server."""

    def __init__(self, server: Server, name: str) -> None:
        self._server, self._key = server, f"ilc: search {name}"

    def turn(self) -> AbstractContextManager[None]:
        """As ``Claims``."""
        return self._server.turn(self._key)

    def take(self, number: int) -> bool:
        """As ``Claims``."""
        return self._server.claim(self._key, number)

    def let_go(self, number: int) -> None:
        """As ``Claims``."""
        self._server.let_go(self._key, number)

    def check(self) -> None:
        """As ``Claims``."""
        self._server.check()
