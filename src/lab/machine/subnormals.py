"""Subnormal numbers, which are closer to 0 than the smallest normal floating-point number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def subnormals_are_zero() -> Iterator[None]:
    """Subnormal numbers (below 1.2e-38 in float32) count as 0 inside the ``with`` block.

    The gradients of a network that is sure of its training data hold many of them, and a CPU computes with
    them many times slower: plain training that memorised the spirals took four times as long. A thread of
    PyTorch takes this setting from the thread that starts it, so enter the block before PyTorch starts
    threads.
    """
    for kind in (np.float32, np.float64):
        np.finfo(kind)  # NumPy measures its limits once, and would warn that the smallest subnormal is 0.
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
