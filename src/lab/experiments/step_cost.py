"""Measurements of the cost of a step: its time, compared with that of other steps, and its peak memory."""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TypeVar

import torch

Step = Callable[[], object]


K = TypeVar("K", bound=Hashable)


def median_milliseconds(ways: Mapping[K, Step], steps: int, warm_up: int = 3) -> dict[K, float]:
    """Return the median time of one step of each way, in milliseconds.

    The ways take turns, so that a change in the machine's speed affects all of them alike.
    """
    seconds: dict[K, list[float]] = {name: [] for name in ways}
    for step in range(steps + warm_up):
        for name, way in ways.items():
            synchronize()
            began = time.perf_counter()
            way()
            synchronize()
            if step >= warm_up:
                seconds[name].append(time.perf_counter() - began)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def default_device() -> str:
    """Return the GPU if there is one, else the CPU."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize() -> None:
    """Wait until the GPU, if there is one, has finished its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def print_peak(step: Step, before: Callable[[], Step], steps: int = 3, device: str = "cpu") -> None:
    """Print the peak memory in MB that the first step and later steps add, and a step's milliseconds.

    The first step of a model may compute more than later ones, such as a comparison with autograd. Gradients
    that a step leaves behind count as memory that it has added.

    Args:
        step: step to measure.
        before: makes a step like it with another model. It runs first and is thrown away, so that libraries
            are loaded and kernels are compiled before measuring.
        steps: number of steps to measure, the first one among them.
        device: device whose memory is measured, ``cpu`` or ``cuda``.
    """
    before()()
    held = _forget_peak(device)
    milliseconds = median_milliseconds({"step": step}, 1, warm_up=0)["step"]
    first = later = _peak_mb(device) - held
    if steps > 1:
        _forget_peak(device)
        milliseconds = median_milliseconds({"step": step}, steps - 1, warm_up=0)["step"]
        later = _peak_mb(device) - held
    print(first, later, milliseconds)


def _forget_peak(device: str) -> float:
    """Make the system forget the peak so far; return the memory in use, in MB."""
    gc.collect()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    else:
        ctypes.CDLL(None).malloc_trim(0)  # What was freed would be used again, unseen.
        Path("/proc/self/clear_refs").write_text("5")
    return _peak_mb(device)


def _peak_mb(device: str) -> float:
    return torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else resident_peak_mb()


def resident_peak_mb() -> float:
    """Return the peak resident memory of this process in MB, as Linux reports it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def peak_in_own_process(
    measure: Callable[..., None], *arguments: object, as_allocated: bool = True
) -> tuple[float, float, float]:
    """Call ``measure(*arguments)`` in a new process; return the numbers that its ``print_peak`` prints.

    Args:
        measure: function of a module that calls ``print_peak``.
        arguments: numbers and strings.
        as_allocated: give memory back to the system as soon as it is free, so that the peak is that of the
            tensors. Otherwise gaps between tensors count as well, and how many there are is chance. It takes
            time, so do not time such a process.
    """
    name = measure.__name__
    # The new process gets the same path, so that it finds the same code.
    path = f"import sys; sys.path[:] = {sys.path!r}"
    program = f"{path}; from {measure.__module__} import {name}; {name}(*{arguments!r})"
    environment = os.environ | ({"MALLOC_MMAP_THRESHOLD_": str(2**20)} if as_allocated else {})
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    first, later, milliseconds = (float(value) for value in answer.stdout.split()[-3:])
    return first, later, milliseconds
