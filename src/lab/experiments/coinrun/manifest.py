"""The manifest of a folder of CoinRun states: how they were collected, and the hash of each file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ilc.errors import UserError

MANIFEST = "manifest.json"


def damaged(path: Path, name: str, error: object) -> str:
    """Return the error message for a missing or damaged file of a dataset."""
    return f"{path / name} is missing or damaged ({error}): remove {path}, and it is collected again"


def hashes(path: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, in hexadecimal, by file name."""
    found = {}
    for name in names:
        with (path / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def read_manifest(path: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Read the manifest of the states in ``path``.

    Args:
        path: folder of the states.
        wanted: entries that the manifest must have.

    Raises:
        UserError: the manifest is missing or damaged, or an entry differs.
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
    """Check by their hashes that the files are exactly as they were collected.

    Raises:
        UserError: a file differs, or it or the manifest cannot be read.
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
