"""The time of a whole training step of section 3.2's network at small widths: passes, votes and Adam.

Memory and tiny numbers are treated as in a run.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import nn, optim
from torch.nn import functional as F

from ilc import AndMask, backward
from lab.experiments.cost.ways import PLAIN, plain
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import default_device, median_milliseconds
from lab.machine.memory_reuse import keep_freed_memory
from lab.machine.subnormals import subnormals_are_zero
from lab.models import FastResNet

IMAGES = 80
STEPS = 30
SIZES = {
    "8, 3 x 32 x 32": (8, (3, 32, 32)),
    "16, 3 x 32 x 32": (16, (3, 32, 32)),
    "8, 1 x 28 x 28": (8, (1, 28, 28)),
}
"""Width and shape of an image."""

THRESHOLDS = {"threshold 0": 0.0, "votes": 0.2}


def parts(steps: int | None = None, device: str | None = None, threads: int = 1) -> Parts:
    """Return the parts of ``cost/training_steps.csv``, one per size. Each takes seconds on an idle machine.

    The steps take turns, and the median step counts.

    Args:
        steps: the number of timed steps of each row (default: 30).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    return {
        size.replace(", ", "_").replace(" ", ""): partial(
            _measure, size, steps or STEPS, device or default_device(), threads
        )
        for size in SIZES
    }


def _measure(size: str, steps: int, device: str, threads: int) -> Tables:
    torch.set_num_threads(threads)
    keep_freed_memory()
    timed = {way: _Training(way, *SIZES[size], device).step for way in (PLAIN, *THRESHOLDS)}
    with subnormals_are_zero():
        times = median_milliseconds(timed, steps)
    rows = [
        {
            "size": size,
            "way": way,
            "milliseconds": round(milliseconds, 2),
            "times_plain": round(milliseconds / times[PLAIN], 2),
            "images": IMAGES,
            "steps": steps,
            "device": device,
            "threads": threads,
        }
        for way, milliseconds in times.items()
    ]
    return {"cost/training_steps.csv": pd.DataFrame(rows)}


class _Training:
    """A network with its optimizer and a batch."""

    def __init__(self, way: str, width: int, shape: tuple[int, ...], device: str) -> None:
        torch.manual_seed(0)
        self.way = way
        self.model: nn.Module = FastResNet(shape[0], 10, width).to(device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=5e-4)
        self.inputs = torch.randn(IMAGES, 1, *shape, device=device)
        self.targets = torch.randint(10, (IMAGES, 1), device=device)

    def step(self) -> None:
        """Take one training step."""
        if self.way == PLAIN:
            plain(self.model, self.inputs, self.targets)
        else:
            mask = AndMask(THRESHOLDS[self.way], rescale=True)
            backward(self.model, F.cross_entropy, self.inputs, self.targets, mask, "per_example")
        self.optimizer.step()
