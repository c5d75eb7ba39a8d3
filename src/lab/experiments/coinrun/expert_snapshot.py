"""Snapshots: checkpoints of the expert that are small enough for the repository.

Training can continue from a snapshot on another machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ilc.errors import UserError
from lab.files.atomic import write_atomically, write_text
from lab.files.sealed import load_sealed, save_sealed

TABLES = ("curve.csv", "unseen.csv")
"""The tables, which are copied unchanged; the second exists only after unseen levels have been played."""


def take_snapshot(run: Path, kept: Path) -> int:
    """Write the run's checkpoint in half precision, and its tables, to ``kept``; return its frames.

    Weights become float16. The optimizer's moments become bfloat16, because the squares among them are too
    small for float16. Training may go on at the same time: the checkpoint is replaced in one step, and a
    training that continues from the snapshot drops table rows that are newer than the checkpoint.

    Raises:
        UserError: the run has no checkpoint yet, or ``kept`` cannot be written to.
    """
    if not (run / "checkpoint.pt").exists():
        raise UserError(
            f"{run} has no checkpoint of an expert yet: give the folder in which scripts/train_expert.py "
            "trains, after its first minute"
        )
    remedy = "put back a copy, or start over in another folder"
    state = load_sealed(run / "checkpoint.pt", remedy, needs_seal=True, map_location="cpu")
    tables = {name: (run / name).read_text() for name in TABLES if (run / name).exists()}
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
    """Copy a snapshot into a run's folder, so that training continues from it; return whether it was copied.

    Nothing happens if the folder already has a checkpoint or if there is no snapshot.
    """
    if (run / "checkpoint.pt").exists() or not (kept / "checkpoint.pt").exists():
        return False
    run.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if (kept / name).exists():
            write_text(run / name, (kept / name).read_text())
    # The checkpoint is written last, because a folder with a checkpoint counts as a run that has begun.
    checkpoint = (kept / "checkpoint.pt").read_bytes()
    write_atomically(run / "checkpoint.pt", lambda file: file.write(checkpoint))
    return True


def _halved(tensors: dict[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """Convert tensors of more than one number to ``dtype``; counters stay unchanged.

    A tensor that has several names stays one tensor, for example the convolutions in stable-baselines3's
    policies.
    """
    halves = {value.data_ptr(): value.to(dtype) for value in tensors.values() if value.numel() > 1}
    return {name: halves.get(value.data_ptr(), value) for name, value in tensors.items()}
