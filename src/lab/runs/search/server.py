"""A PostgreSQL server that keeps the trials of searches with many askers, and the locks of these trials.

The lock of a trial is an advisory lock of PostgreSQL. The server releases it when the connection ends, also
if the asker died. Another asker then trains the trial. The connection must lead to the server itself, or to
a connection pooler that keeps sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

from optuna.storages import RDBStorage

from ilc._extras import install_command
from ilc.errors import UserError

try:
    import psycopg
except ImportError as error:
    raise UserError(
        f"--storage postgresql://... needs psycopg, which is not installed: run {install_command('postgres')}"
    ) from error

SCHEME = "postgresql://"
EXPECTED = (
    f"{SCHEME}user@host:port/database, where @ : / ? # % and braces in a password are written as %40 %3A %2F "
    "..."
)
SECONDS = 10
"""The longest time to wait for the server."""

TABLES = "ilc: tables"


class Server:
    """A database on a PostgreSQL server, and the connection of this process to it.

    Args:
        url: ``postgresql://user:password@host:port/database``. Without a password, PostgreSQL looks for it in
            ``PGPASSWORD`` and in ``~/.pgpass``, where no other user of the machine sees it.

    Raises:
        UserError: the address is wrong, the server does not answer, or the name or the password is wrong. No
            message shows the password.
    """

    def __init__(self, url: str) -> None:
        self.shown, self._password = _without_password(url)
        self._url = url
        try:
            self._connection = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=SECONDS,
                keepalives_idle=60,
            )
        except psycopg.Error as error:
            raise self._mistake(error) from None  # Its cause may hold the whole address, with the password.
        self._trials: RDBStorage | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._trials is not None:
            self._trials.remove_session()
            self._trials.engine.dispose()
        self._connection.close()  # This releases every lock.

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn an error of the server inside the ``with`` block into one message.

        Raises:
            UserError: the server refused something, or did not answer.
        """
        try:
            yield
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None:
                if isinstance(cause, psycopg.Error):
                    raise self._mistake(cause) from None
                cause = cause.__cause__
            raise

    @contextmanager
    def trials(self) -> Iterator[RDBStorage]:
        """The tables of Optuna, which are made if they do not exist.

        Other processes wait until the block ends.
        """
        with self.while_no_other_begins(TABLES):
            if self._trials is None:
                self._trials = RDBStorage(self._url.replace(SCHEME, "postgresql+psycopg://", 1))
            yield self._trials

    @contextmanager
    def while_no_other_begins(self, search: str) -> Iterator[None]:
        """Wait until no other asker begins trials of this search. During the block, others wait."""
        self._ask("SELECT pg_advisory_lock(hashtext(%s), 0)", search)
        try:
            yield
        finally:
            self._ask("SELECT pg_advisory_unlock(hashtext(%s), 0)", search)

    def lock(self, search: str, number: int) -> bool:
        """Lock a trial; return False if another asker has locked it."""
        return self._ask("SELECT pg_try_advisory_lock(hashtext(%s), %s)", search, number + 1)

    def unlock(self, search: str, number: int) -> None:
        """Unlock a trial."""
        self._ask("SELECT pg_advisory_unlock(hashtext(%s), %s)", search, number + 1)

    def check_still_held(self) -> None:
        """Check that the connection still exists. All locks end with it."""
        self._ask("SELECT true")

    def _ask(self, question: str, *values: str | int) -> bool:
        with self.answering():
            answer = self._connection.execute(question, values).fetchone()
        return bool(answer and answer[0])

    def _mistake(self, error: psycopg.Error) -> UserError:
        reason = " ".join(str(error).split())
        if self._password:
            reason = reason.replace(self._password, "***")
        return UserError(
            f"--storage {self.shown} cannot be used: {reason}. Check that the server runs there, and check "
            "the name, the password (or PGPASSWORD, or ~/.pgpass) and the database. Then give the same "
            "command again to continue"
        )


def _without_password(url: str) -> tuple[str, str | None]:
    """The address without its password, and the password.

    Raises:
        UserError: this is not the address of a database.
    """
    mistake = UserError(f"--storage must be {EXPECTED}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise mistake from None
    user = parts.netloc.rpartition("@")[0]
    # Characters of a password that were not written as %.. would end up in what is shown.
    strays = set("@{}") & set(user + parts.path + parts.query) or parts.fragment or parts.path.count("/") > 1
    if not url.startswith(SCHEME) or strays or "password" in parts.query:
        raise mistake
    name, _, password = user.partition(":")
    shown = f"{SCHEME}{name}@{host}" if name else f"{SCHEME}{host}"
    return shown + (f":{port}" if port else "") + parts.path, unquote(password) or None
