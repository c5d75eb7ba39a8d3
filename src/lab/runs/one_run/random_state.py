"""The state of every random number generator, as values that load without running code."""

from __future__ import annotations

import random
from typing import Any, cast

import numpy as np
import torch

NumpyState = tuple[str, np.ndarray[Any, Any], int, int, float]


def random_state() -> dict[str, Any]:
    """The present states of the generators of torch (CPU and CUDA), NumPy and Python."""
    kind, keys, position, has_gauss, gauss = cast("NumpyState", np.random.get_state(legacy=True))
    version, internal, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [kind, torch.from_numpy(keys.astype(np.int64)), int(position), int(has_gauss), float(gauss)],
        "python": [version, list(internal), gauss_next],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Continue from a state that ``random_state`` returned."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    kind, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, gauss))
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal), gauss_next))


def seed_everything(seed: int) -> None:
    """Seed the generators of Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
