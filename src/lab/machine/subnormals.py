"""Numbers too small for the usual form of a floating-point number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def subnormals_are_zero() -> Iterator[None]:
    """Numbers closer to 0 than the smallest normal one (1.2e-38 in float32) count as 0 in here.

    Where a network is sure of its training data, its gradients are full of them, and CPUs compute many times
    slower with them: plain training that memorised the spirals took four times as long. PyTorch's threads are
    as the one that starts them: enter before there are any.
    """
    for kind in (np.float32, np.float64):
        np.finfo(kind)  # NumPy measures its limits once, and would warn that the smallest subnormal is 0.
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
