"""Download files. Each file is checked by its hash, and an interrupted download is continued."""

from __future__ import annotations

import hashlib
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

SECONDS_TO_DECIDE = 8.0
SECONDS_OF_SILENCE = 30.0
_PIECE = 2**20


def server_answers(url: str, seconds: float = SECONDS_TO_DECIDE) -> bool:
    """Return whether the server behind ``url`` answers within that many seconds."""
    answers = threading.Event()

    def ask() -> None:
        request = urllib.request.Request(url, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=seconds):
                answers.set()
        except urllib.error.HTTPError:
            answers.set()  # The server refuses the page, but it is there.
        except OSError:
            pass

    # The request has its own thread, because looking up a host name has no timeout.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers.is_set()


def download(url: str, path: Path, md5: str) -> None:
    """Download ``url`` to ``path``. The file appears only when it is whole and its hash is right.

    If a download is interrupted, the unfinished file stays beside ``path`` as ``.NAME.part``. The next call
    continues it.

    Raises:
        OSError: there is no network, there is no answer for half a minute, the disk is full, or the file has
            another hash.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    done = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        _fetch(request, partial, done)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # Nothing is left to fetch; only the check was missing.
            raise
    found = file_md5(partial)
    if found != md5:
        partial.unlink()
        raise OSError(f"{url} gave a file whose MD5 is {found} instead of {md5}; it was removed")
    partial.replace(path)


def _fetch(request: urllib.request.Request, partial: Path, done: int) -> None:
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        urllib.request.urlopen(request, timeout=SECONDS_OF_SILENCE) as answer,
        Progress(*columns, disable=not sys.stdout.isatty()) as bar,
    ):
        done = done if answer.status == 206 else 0  # A server that cannot send ranges sends the whole file.
        length = answer.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        task = bar.add_task(partial.name.strip(".").removesuffix(".part"), completed=done, total=total)
        with open(partial, "ab" if done else "wb") as file:
            while piece := answer.read(_PIECE):
                file.write(piece)
                bar.advance(task, len(piece))
    if total is not None and partial.stat().st_size < total:
        raise OSError(f"the connection ended after {partial.stat().st_size} of {total} bytes")


def file_md5(path: Path) -> str:
    """Return the MD5 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
