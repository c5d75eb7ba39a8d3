"""The files of a run folder as they are read: checked, and named with the remedy where they are damaged.

``done`` holds the hashes of what tables are made from; a folder from before it did (0.2) has an empty one,
and its files are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf

from ilc.errors import UserError
from lab.configuration.keys import check_type
from lab.files.sealed import load_sealed

T = TypeVar("T")

OUTPUTS = Path("outputs")
"""Where run folders are made, whatever the command: below the current folder, as ``data_dir`` is."""

CONFIG, PROVENANCE, METRICS, SUMMARY = "config.yaml", "provenance.json", "metrics.jsonl", "summary.json"
CHECKPOINT, SELECTED, DONE = "checkpoint.pt", "selected.pt", "done"

LOG = "log.txt"
"""File in a run folder with what the run printed in a worker."""

FAILED = "failed.txt"
"""File in a run folder with the message of a run that failed by its own fault."""

_OF_A_CHECKPOINT = {"random": dict, "epoch": int, "n_evaluations": int, "wall_seconds": float}


def remedy(folder: Path) -> str:
    """What to do about a damaged file, for messages."""
    return f"put back a copy, or remove {folder} and give the run's command again"


def is_done(folder: Path) -> bool:
    """Whether the run has ended and everything is written."""
    return (folder / DONE).exists()


def hashes(folder: Path) -> str:
    """What ``done`` holds: the SHA-256 of each file that tables are made from."""
    names = (CONFIG, PROVENANCE, METRICS, SUMMARY)
    return json.dumps({name: _hash((folder / name).read_bytes()) for name in names}, indent=2) + "\n"


def read_config(folder: Path) -> dict[str, Any]:
    """The resolved config. The file is text: an interpolation (``${...}``) in it stays as it is written.

    Raises:
        UserError: the file is missing, damaged, or was changed after the run was done.
    """

    def understood(text: str) -> dict[str, Any]:
        content = _object(OmegaConf.to_container(OmegaConf.create(text), resolve=False), "name", "seed")
        check_type("name", content["name"], str)
        check_type("seed", content["seed"], int)
        return content

    return _read(folder, CONFIG, understood)


def read_provenance(folder: Path) -> dict[str, Any]:
    """Where the run's numbers come from.

    Raises:
        UserError: as ``read_config``.
    """
    return _read(folder, PROVENANCE, lambda text: _object(json.loads(text), "command", "git_commit"))


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of a run that is done.

    Raises:
        UserError: as ``read_config``.
    """
    return _read(folder, SUMMARY, lambda text: _object(json.loads(text), "step"))


def read_metrics(folder: Path, first: int | None = None, sha256: str | None = None) -> list[dict[str, Any]]:
    """The evaluations.

    Args:
        folder: of the run.
        first: as many of them as a checkpoint counts; None for all.
        sha256: what ``metrics_sha256`` said of those; None where nobody asked.

    Raises:
        UserError: as ``read_config``, or some are missing.
    """
    if first == 0:
        return []

    def understood(text: str) -> list[dict[str, Any]]:
        lines = text.splitlines(keepends=True)[:first]
        if first is not None and len(lines) < first:
            raise ValueError(f"it holds {len(lines)} evaluations, the checkpoint was made after {first}")
        if sha256 is not None and _hash("".join(lines).encode()) != sha256:
            raise ValueError("it was changed after the checkpoint was made")
        return [_object(json.loads(line), "step") for line in lines]

    return _read(folder, METRICS, understood)


def metrics_sha256(folder: Path) -> str:
    """SHA-256 of all evaluations so far."""
    path = folder / METRICS
    return _hash(path.read_bytes() if path.exists() else b"")


def read_checkpoint(folder: Path) -> dict[str, Any] | None:
    """The last checkpoint, or None when there is none.

    Raises:
        UserError: the file is damaged, or no checkpoint of a run.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    state = load_sealed(path, remedy(folder), map_location="cpu")
    if not isinstance(state, dict) or not all(
        isinstance(state.get(key), kind) for key, kind in _OF_A_CHECKPOINT.items()
    ):
        raise UserError(f"{path} is no checkpoint of a run: {remedy(folder)}")
    return state


def read_selected(folder: Path) -> dict[str, Any] | None:
    """What ``RunDirectory.save_selected`` wrote, ``step`` and ``model``, or None when there is nothing.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / SELECTED
    return load_sealed(path, remedy(folder), map_location="cpu") if path.exists() else None


@contextmanager
def fitting(folder: Path, name: str = CHECKPOINT) -> Iterator[None]:
    """Around whatever takes up the state that ``read_checkpoint`` or ``read_selected`` returned.

    Raises:
        UserError: it does not fit: of other shapes, or from another version of the code.
    """
    try:
        yield
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{folder / name} does not fit this run ({what}): {remedy(folder)}") from error


def _read(folder: Path, name: str, understood: Callable[[str], T]) -> T:
    """What a text file says, once its hash is found to be right."""
    path = folder / name
    try:
        content = path.read_bytes()
        expected = _expected(folder, name)
        if expected is not None and _hash(content) != expected:
            raise ValueError("it was changed after the run was done")
        return understood(content.decode())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): {remedy(folder)}") from error
    except Exception as error:
        what = " ".join(str(error).split())
        raise UserError(f"{path} is damaged ({what}): {remedy(folder)}") from error


def _expected(folder: Path, name: str) -> str | None:
    path = folder / DONE
    text = path.read_text() if path.exists() else ""
    if not text:
        return None
    try:
        return str(_object(json.loads(text), name)[name])
    except ValueError as error:
        raise ValueError(f"the hash that {path} should have of it cannot be read") from error


def _object(values: Any, *needed: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ValueError(f"expected an object, found {type(values).__name__}")
    for key in needed:
        if key not in values:
            raise ValueError(f"it lacks {key!r}")
    return {str(key): value for key, value in values.items()}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
