"""Files that are written in one step: a reader finds the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from ilc.errors import UserError


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside ``path``, then put it in its place in one step.

    Whatever happens, ``path`` holds either its old content or all of the new one.

    Raises:
        UserError: the file cannot be written, for example because the disk is full or the folder is gone.
    """
    check_file_path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UserError(cannot_write(path, error)) from error


def check_file_path(path: Path) -> None:
    """Check that a file can have this path. This does not check that the file can be written.

    Raises:
        UserError: the path is that of a folder, or it lies below a file.
    """
    if not path.name or path.name == ".." or _is_folder(path):
        raise UserError(f"cannot write {path}: it is a folder. Name a file in it")
    above = next((folder for folder in path.parents if _exists(folder)), None)
    if above is not None and not _is_folder(above):
        raise UserError(f"cannot write {path}: {above} is a file, not a folder. Name another path")


def cannot_write(path: Path, error: OSError) -> str:
    """The message for a file that cannot be written, with a remedy that fits the system's error."""
    return f"cannot write {path}: {error.strerror or error}. {_remedy(path, error)}"


def _remedy(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE) and not _is_folder(path.parent):
        return (
            f"The folder {path.parent} no longer exists: it was removed, renamed or unmounted in the "
            "meantime. Bring it back, or give the same command again to start over"
        )
    again = "then give the same command again to continue"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"The files written so far are intact: make room there, {again}"
    return f"The files written so far are intact: choose a folder that can be written to, {again}"


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises for a name that is too long.


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - as above.


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object atomically, one key per line."""
    write_text(path, json.dumps(values, indent=2, default=str) + "\n")


def in_memory(write: Callable[[BinaryIO], object]) -> bytes:
    """The bytes that ``write`` writes."""
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()
