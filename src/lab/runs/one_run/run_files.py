"""Reads the files of a run folder. Every file is checked; the message about a damaged file says what to do.

The file ``done`` holds the hashes of the files from which tables are made. In folders from before version
0.2 it is empty, and their files are read without this check.
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
"""The folder of all run folders, below the current folder, as ``data_dir`` is."""

CONFIG, PROVENANCE, METRICS, SUMMARY = "config.yaml", "provenance.json", "metrics.jsonl", "summary.json"
CHECKPOINT, SELECTED, DONE = "checkpoint.pt", "selected.pt", "done"

LOG = "log.txt"
"""The file in a run folder that holds the output of a run in a worker."""

WANDB = "wandb"
"""The folder in a run folder in which W&B keeps its copy. It may hold another ``config.yaml``."""

FAILED = "failed.txt"
"""The file in a run folder that holds the message of a run that diverged."""

_OF_A_CHECKPOINT = {"random": dict, "epoch": int, "n_evaluations": int, "wall_seconds": float}


def remedy(folder: Path) -> str:
    """The remedy for a damaged file, for messages."""
    return f"put back a copy, or remove {folder} and give the run's command again"


def is_done(folder: Path) -> bool:
    """Whether the run has ended and everything is written."""
    return (folder / DONE).exists()


def hashes(folder: Path) -> str:
    """The content of ``done``: the SHA-256 of each file from which tables are made."""
    names = (CONFIG, PROVENANCE, METRICS, SUMMARY)
    return json.dumps({name: _hash((folder / name).read_bytes()) for name in names}, indent=2) + "\n"


def read_config(folder: Path) -> dict[str, Any]:
    """Read the resolved config. An interpolation (``${...}``) in the file is not resolved: it stays text.

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
    """Read the provenance: the origin of the numbers of the run.

    Raises:
        UserError: as in ``read_config``.
    """
    return _read(folder, PROVENANCE, lambda text: _object(json.loads(text), "command", "git_commit"))


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the summary of a run that is done.

    Raises:
        UserError: as in ``read_config``.
    """
    return _read(folder, SUMMARY, lambda text: _object(json.loads(text), "step"))


def read_metrics(folder: Path, first: int | None = None, sha256: str | None = None) -> list[dict[str, Any]]:
    """Read the evaluations.

    Args:
        folder: the folder of the run.
        first: the number of evaluations that are read, as a checkpoint counts them; None for all.
        sha256: the hash of these evaluations, from ``metrics_sha256``; None if it is unknown.

    Raises:
        UserError: as in ``read_config``, or evaluations are missing.
    """
    if first == 0:
        return []

    def understood(text: str) -> list[dict[str, Any]]:
        lines = text.splitlines(keepends=True)[:first]
        if first is not None and len(lines) < first:
            raise ValueError(f"it holds {len(lines)} evaluations, but the checkpoint was made after {first}")
        if sha256 is not None and _hash("".join(lines).encode()) != sha256:
            raise ValueError("it was changed after the checkpoint was made")
        return [_object(json.loads(line), "step") for line in lines]

    return _read(folder, METRICS, understood)


def metrics_sha256(folder: Path) -> str:
    """The SHA-256 of all evaluations so far."""
    path = folder / METRICS
    return _hash(path.read_bytes() if path.exists() else b"")


def read_checkpoint(folder: Path) -> dict[str, Any] | None:
    """Read the last checkpoint; None if there is none.

    Raises:
        UserError: the file is damaged, or is not the checkpoint of a run.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    state = load_sealed(path, remedy(folder), map_location="cpu")
    if not isinstance(state, dict) or not all(
        isinstance(state.get(key), kind) for key, kind in _OF_A_CHECKPOINT.items()
    ):
        raise UserError(f"{path} is not the checkpoint of a run: {remedy(folder)}")
    return state


def read_selected(folder: Path) -> dict[str, Any] | None:
    """Read the ``step`` and the ``model`` of ``RunDirectory.save_selected``; None if there is no file.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / SELECTED
    return load_sealed(path, remedy(folder), map_location="cpu") if path.exists() else None


def check_selected(folder: Path) -> None:
    """Check that the selected weights are there. No later evaluation may be selected, so they are needed.

    Raises:
        UserError: the file is missing or damaged.
    """
    if read_selected(folder) is None:
        raise UserError(f"{folder / SELECTED}, which trainer.selection needs, is missing: {remedy(folder)}")


def check_tables(folder: Path) -> None:
    """Check the files of a done run from which tables are made, beside its config and its summary.

    Raises:
        UserError: as in ``read_config``.
    """
    read_provenance(folder)
    read_metrics(folder)


@contextmanager
def mismatch_explained(folder: Path, name: str = CHECKPOINT) -> Iterator[None]:
    """Explain an error inside the ``with`` block, which loads a state into the objects of a run.

    Raises:
        UserError: the state does not fit: it has other shapes, or comes from another version of the code.
    """
    try:
        yield
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{folder / name} does not fit this run ({what}): {remedy(folder)}") from error


def _read(folder: Path, name: str, understood: Callable[[str], T]) -> T:
    """Read a text file after its hash was checked."""
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
        raise ValueError(f"its hash in {path} cannot be read") from error


def _object(values: Any, *needed: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ValueError(f"expected an object, found {type(values).__name__}")
    for key in needed:
        if key not in values:
            raise ValueError(f"it lacks {key!r}")
    return {str(key): value for key, value in values.items()}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
