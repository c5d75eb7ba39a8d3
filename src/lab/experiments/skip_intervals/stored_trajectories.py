"""Storage of trajectories: they are made once and kept in a file with a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ilc.errors import UserError
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.files.locked import locked
from lab.files.sealed import sealed_or_made


def stored_trajectories(
    folder: Path, name: str, parameters: Mapping[str, Any], make: Callable[[], Trajectories]
) -> tuple[Trajectories, str]:
    """Load the trajectories of these parameters, or make and store them first; also return their SHA-256.

    Frames are stored as bits in a torch file that contains its own hash. A file without a hash, or of other
    parameters, is made again.

    Raises:
        UserError: the file is damaged or cannot be written.
    """
    text = json.dumps(parameters, sort_keys=True)
    path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.pt"

    def made() -> dict[str, Any]:
        print(f"{name}: making trajectories, which are then kept in {path}", flush=True)
        return {"parameters": text, **_packed(make())}

    try:
        with locked(folder):
            state = sealed_or_made(
                path, made, partial(_fits, parameters=text), f"remove {path}, and it is made again"
            )
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}. Choose another folder with data_dir=..."
        ) from error
    digest = hashlib.sha256()
    for key in ("bits", "lengths", "labels"):
        digest.update(state[key].numpy().tobytes())
    return _unpacked(state), digest.hexdigest()


def _fits(state: Any, parameters: str) -> bool:
    """Return whether a stored file has the complete trajectories of these parameters."""
    n_bits, n_frames = int(np.prod(state["shape"])), int(state["lengths"].sum())
    return bool(
        state["parameters"] == parameters
        and state["bits"].dtype == torch.uint8
        and len(state["bits"]) == -(-n_bits // 8)
        and len(state["labels"]) == len(state["lengths"])
        and state["shape"][0] == n_frames
    )


def _packed(trajectories: Trajectories) -> dict[str, Any]:
    bits = np.packbits(trajectories.frames.numpy().reshape(-1))
    return {
        "bits": torch.from_numpy(bits),
        "shape": list(trajectories.frames.shape),
        "lengths": trajectories.lengths,
        "labels": trajectories.labels,
    }


def _unpacked(state: Mapping[str, Any]) -> Trajectories:
    shape = state["shape"]
    bits = np.unpackbits(state["bits"].numpy(), count=int(np.prod(shape)))
    lengths: Tensor = state["lengths"]
    begins = lengths.cumsum(0) - lengths
    return Trajectories(torch.from_numpy(bits).reshape(shape), begins, lengths, state["labels"])
