"""Which device a run uses, and how it is made to repeat itself there."""

from __future__ import annotations

import os
import resource
import sys

import torch

from ilc.errors import UserError

CHOICES = ("auto", "cpu", "cuda")


def choose_device(name: str, threads: int | None) -> torch.device:
    """The device by its config name, set to deterministic algorithms.

    Raises:
        UserError: an unknown name, no such device, or a number of threads below 1.
    """
    if name not in CHOICES:
        raise UserError(f"device must be one of {', '.join(CHOICES)}, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but no CUDA device can be used here: take device=auto or device=cpu")
    if threads is not None:
        if not isinstance(threads, int) or threads < 1:
            raise UserError(f"threads must be null or a whole number of at least 1, got {threads!r}")
        torch.set_num_threads(threads)
    kind = "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    return torch.device(kind)


def peak_memory_mb(device: torch.device) -> float:
    """Peak memory so far in MB: of the device's allocator on CUDA, else of the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
