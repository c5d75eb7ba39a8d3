"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
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
        UserError: the disk is full, the folder is not writable, ...
    """
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
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. What was there before is unharmed: make room "
            "or choose another folder (hydra.run.dir=...), then give the same command again to continue"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object atomically, one key per line."""
    write_text(path, json.dumps(values, indent=2, default=str) + "\n")


def in_memory(write: Callable[[BinaryIO], object]) -> bytes:
    """What ``write`` writes, as bytes."""
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()
