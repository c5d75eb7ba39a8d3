"""The time of steps with a model that ``torch.compile`` has compiled, beside the same steps without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import torch
from torch import nn

from lab.experiments.cost.ways import PLAIN, WAYS
from lab.experiments.cost.workloads import batch, model_of
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import Step, default_device, median_milliseconds

NETWORK = "transformer"
STEPS = {PLAIN: (8, 8), "sequential": (8, 8), "vectorized": (8, 8), "per_example": (64, 1)}
"""The ways, each with E environments and N examples."""


def in_blocks(model: nn.Module) -> nn.Module:
    """Compile each block of the network by itself."""
    for block in model.get_submodule("blocks").children():
        block.compile()
    return model


COMPILED: dict[str, Callable[[nn.Module], nn.Module]] = {
    "no": lambda model: model,
    "whole": lambda model: torch.compile(model),
    "blocks": in_blocks,
}


def parts(steps: int | None = None, device: str | None = None, threads: int = 2) -> Parts:
    """Return the part of ``cost/compiled.csv``, for one transformer.

    All steps take turns, and the median step counts. What compiles is not timed.

    Args:
        steps: the number of timed steps of each row (default: 30).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    return {"steps": partial(_measure, steps or 30, device or default_device(), threads)}


def _measure(steps: int, device: str, threads: int) -> Tables:
    torch.set_num_threads(threads)
    rows = [(way, compiled) for way in STEPS for compiled in COMPILED]
    timed = {_key(*row): _step(*row, device) for row in rows}
    times = median_milliseconds(timed, steps)
    table = [
        {
            "way": way,
            "compiled": compiled,
            "milliseconds": round(times[_key(way, compiled)], 2),
            "times_plain": round(times[_key(way, compiled)] / times[_key(PLAIN, "no")], 2),
            "times_plain_compiled": round(times[_key(way, compiled)] / times[_key(PLAIN, "whole")], 2),
            "times_own_uncompiled": round(times[_key(way, compiled)] / times[_key(way, "no")], 2),
            "environments": STEPS[way][0],
            "examples": STEPS[way][1],
            "steps": steps,
            "device": device,
            "threads": threads,
        }
        for way, compiled in rows
    ]
    return {"cost/compiled.csv": pd.DataFrame(table)}


def _step(way: str, compiled: str, device: str) -> Step:
    model = COMPILED[compiled](model_of(NETWORK, device))
    return partial(WAYS[way], model, *batch(NETWORK, *STEPS[way], device))


def _key(way: str, compiled: str) -> str:
    return f"{way}, compiled: {compiled}"
