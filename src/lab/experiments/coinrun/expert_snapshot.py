"""A checkpoint of the expert small enough for the repository, to continue from on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ilc.errors import UserError
from lab.files.atomic import write_atomically, write_text
from lab.files.sealed import load_sealed, save_sealed

TABLES = ("curve.csv", "unseen.csv")
"""Kept as they are; the second is not there before unseen levels were played."""


def take_snapshot(run: Path, kept: Path) -> int:
    """Write the run's checkpoint in half precision, and its tables, to ``kept``; return its frames.

    Weights become float16; the optimizer's moments bfloat16, as its squares are too small for float16.
    Training may go on meanwhile: the checkpoint is replaced in one step, and rows of the tables that
    are newer than it are left out by whoever continues.

    Raises:
        UserError: the run has no checkpoint yet, or ``kept`` cannot be written to.
    """
    try:
        (run / "checkpoint.pt").stat()
        remedy = "put back a copy, or start over in another folder"
        state = load_sealed(run / "checkpoint.pt", remedy, needs_seal=True, map_location="cpu")
        tables = {name: (run / name).read_text() for name in TABLES if (run / name).exists()}
    except FileNotFoundError as error:
        raise UserError(
            f"{run} has no checkpoint of an expert yet: give the folder in which scripts/train_expert.py "
            "trains, after its first minute"
        ) from error
    state["policy"] = _halved(state["policy"], torch.float16)
    state["optimizer"]["state"] = {
        number: _halved(moments, torch.bfloat16) for number, moments in state["optimizer"]["state"].items()
    }
    kept.mkdir(parents=True, exist_ok=True)
    save_sealed(kept / "checkpoint.pt", state)
    for name, table in tables.items():
        write_text(kept / name, table)
    return int(state["frames"])


def restore_snapshot(kept: Path, run: Path) -> bool:
    """Put a snapshot into a run's folder, where training continues from it; return whether it did.

    A folder that has a checkpoint of its own keeps it, and without a snapshot nothing happens.
    """
    if (run / "checkpoint.pt").exists() or not (kept / "checkpoint.pt").exists():
        return False
    run.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if (kept / name).exists():
            write_text(run / name, (kept / name).read_text())
    # Last, as with it the folder counts as begun.
    checkpoint = (kept / "checkpoint.pt").read_bytes()
    write_atomically(run / "checkpoint.pt", lambda file: file.write(checkpoint))
    return True


def _halved(tensors: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """Tensors of more than one number as ``dtype``; counters stay as they are.

    What has several names, as the convolutions in stable-baselines3's policies, stays one tensor.
    """
    halves = {value.data_ptr(): value.to(dtype) for value in tensors.values() if value.numel() > 1}
    return {name: halves.get(value.data_ptr(), value) for name, value in tensors.items()}
