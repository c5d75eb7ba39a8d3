"""What a folder of CoinRun states says of itself: how they were collected, and the hash of each file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ilc.errors import UserError

MANIFEST = "manifest.json"


def damaged(path: Path, name: str, error: object) -> str:
    """The message for a file of a dataset."""
    return f"{path / name} is missing or damaged ({error}): remove {path}, and it is collected again"


def hashes(path: Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file, in hexadecimal."""
    found = {}
    for name in names:
        with (path / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def read_manifest(path: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """The manifest of the states in ``path``.

    Args:
        path: of the folder.
        wanted: what it must say of how they were collected.

    Raises:
        UserError: it is missing or damaged, or says something else.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text())
        for key, value in wanted.items():
            if manifest[key] != value:
                raise ValueError(f"{key} is {manifest[key]!r} instead of {value!r}")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(damaged(path, MANIFEST, error)) from error
    return {str(key): value for key, value in manifest.items()}


def check_hashes(path: Path, names: Iterable[str]) -> None:
    """Whether each file is what was collected, to the last bit.

    Raises:
        UserError: one is not.
    """
    names = list(names)
    try:
        expected = json.loads((path / MANIFEST).read_text())["sha256"]
        found = hashes(path, names)
        different = [name for name in names if found[name] != expected[name]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(damaged(path, MANIFEST, error)) from error
    if different:
        raise UserError(damaged(path, different[0], "its content does not match its hash"))
