"""What a step costs: its time beside that of others, taken in turn, and the peak of its memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

Step = Callable[[], object]


def median_milliseconds(ways: Mapping[str, Step], steps: int, warm_up: int = 3) -> dict[str, float]:
    """Median time of one step of each way, taken in turn, so that a drifting machine drifts for all."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
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
    """The GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize() -> None:
    """Wait until the GPU, if there is one, has done what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def print_peak(step: Step, before: Step, steps: int = 3, device: str = "cpu") -> None:
    """Print the peak of this process in MB, the step's beyond what was held before, and its milliseconds.

    Args:
        step: what is measured.
        before: a small version of it, run first, so that what is loaded lazily is loaded.
        steps: how many times.
        device: whose memory, ``cpu`` or ``cuda``.
    """
    before()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated() / 2**20
        peak: Callable[[], float] = lambda: torch.cuda.max_memory_allocated() / 2**20  # noqa: E731
    else:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: forget the peak of importing torch.
        held, peak = resident_peak_mb(), resident_peak_mb
    milliseconds = median_milliseconds({"step": step}, steps, warm_up=0)["step"]
    print(peak(), peak() - held, milliseconds)


def resident_peak_mb() -> float:
    """Peak resident memory of this process, as Linux tells it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def peak_in_own_process(measure: Callable[..., None], *arguments: object) -> tuple[float, float, float]:
    """What ``print_peak`` says when ``measure(*arguments)`` calls it in a fresh process.

    Args:
        measure: a function of a module.
        arguments: numbers and words.
    """
    name = measure.__name__
    # The same path, so that it finds the same code.
    path = f"import sys; sys.path[:] = {sys.path!r}"
    program = f"{path}; from {measure.__module__} import {name}; {name}(*{arguments!r})"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    process, beyond, milliseconds = (float(value) for value in answer.stdout.split()[-3:])
    return process, beyond, milliseconds
