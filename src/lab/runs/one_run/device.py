"""The device of a run, with settings that make the run repeatable on it."""

from __future__ import annotations

import os
import resource
import sys
import warnings

import torch

from ilc.errors import UserError

CHOICES = ("auto", "cpu", "cuda")
MOST_THREADS = 1024
"""The largest number of threads. OpenMP cannot start many more, and ends the process if it cannot."""


def choose_device(name: str, threads: int | None) -> torch.device:
    """Choose the device by its name in the config, and set deterministic algorithms.

    Raises:
        UserError: the name is unknown, there is no such device, this machine has fewer devices than
            processes, or the number of threads is out of range.
    """
    if name not in CHOICES:
        raise UserError(f"device must be one of {', '.join(CHOICES)}, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError(
            "device=cuda needs a CUDA device, but none can be used here: take device=auto or device=cpu"
        )
    if threads is not None:
        if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
            raise UserError(
                f"threads must be null or a whole number from 1 to {MOST_THREADS}, got {threads!r}"
            )
        torch.set_num_threads(threads)
    kind = "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        _take_one_of_several(int(os.environ.get("LOCAL_RANK", "0")))
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # A maximum over windows has no algorithm that torch calls deterministic. It is one all the same where
        # windows do not overlap, because no two numbers are then added to the same place.
        warnings.filterwarnings("ignore", ".*max_pool2d.*deterministic")
    torch.use_deterministic_algorithms(True, warn_only=kind == "cuda")
    # torch would fill all new memory with NaN, which costs up to a tenth of a step on a GPU.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return torch.device(kind)


def device_of(name: str | torch.device) -> torch.device:
    """The device of a name such as ``cuda:1``, or of ``auto``. No setting of torch changes.

    Raises:
        UserError: the name is unknown, or there is no such device.
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if isinstance(name, str) and name == "auto":
        return torch.device("cuda" if there else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise UserError(f"device must be one of {', '.join(CHOICES)} or cuda:NUMBER, got {name!r}")
    if device.type == "cuda" and (device.index or 0) >= there:
        raise UserError(
            f"device={name} needs a CUDA device, but {there or 'none'} can be used here: take device='cpu'"
        )
    return device


def _take_one_of_several(local_rank: int) -> None:
    """Give each process that torchrun starts on this machine a device of its own."""
    there = torch.cuda.device_count()
    if local_rank >= there:
        raise UserError(
            f"process {local_rank + 1} of this machine needs a CUDA device of its own, but there are only "
            f"{there}: take --nproc_per_node={there} or device=cpu"
        )
    torch.cuda.set_device(local_rank)


def peak_memory_mb(device: torch.device) -> float:
    """The peak memory so far in MB: of the allocator on CUDA, otherwise of the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
