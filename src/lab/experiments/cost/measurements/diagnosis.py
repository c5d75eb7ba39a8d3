"""The time of ``ilc.diagnose``, beside a plain forward and backward pass over the same examples."""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from ilc import diagnose
from lab.experiments.cost.ways import PLAIN, plain
from lab.experiments.cost.workloads import WORKLOADS, Workload, batch_for
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import Step, default_device, median_milliseconds

ENVIRONMENTS = 8
PASSES = 30


def _two_convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def _small_perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


NETWORKS: dict[str, Workload] = {
    **{name: WORKLOADS[name] for name in ("perceptron 784-1024-1024-10", "transformer")},
    "convolutions of 32 and 64 channels": Workload(
        _two_convolutions, (3, 32, 32), 10, ((64, 1),), (), PASSES
    ),
    "perceptron 64-64-10": Workload(_small_perceptron, (64,), 10, ((1792, 1),), (), PASSES),
}
"""The networks, each with a vote per example. The environments divide the same number of examples."""


def parts(steps: int | None = None, device: str | None = None, threads: int = 1) -> Parts:
    """Return the parts of ``cost/diagnosis.csv``, one per network. Each takes seconds on an idle machine.

    The passes take turns, and the median pass counts.

    Args:
        steps: the number of timed passes of each row (default: 30).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    return {
        name.replace(" ", "_"): partial(_measure, name, steps or PASSES, device or default_device(), threads)
        for name in NETWORKS
    }


def _measure(name: str, passes: int, device: str, threads: int) -> Tables:
    torch.set_num_threads(threads)
    workload = NETWORKS[name]
    n_examples, _ = workload.grid[0]
    torch.manual_seed(0)
    model = workload.model().to(device)
    ways = {
        ("vectorized", ENVIRONMENTS): (ENVIRONMENTS, n_examples // ENVIRONMENTS),
        ("per_example", n_examples): (n_examples, 1),
    }
    timed: dict[tuple[str, int], Step] = {
        (PLAIN, 1): partial(plain, model, *batch_for(workload, 1, n_examples, device)),
        **{
            way: partial(diagnose, model, F.cross_entropy, *batch_for(workload, *sizes, device), way[0])
            for way, sizes in ways.items()
        },
    }
    times = median_milliseconds(timed, passes)
    rows = [
        {
            "model": name,
            "way": way,
            "environments": n_environments,
            "examples": n_examples // n_environments,
            "milliseconds": round(milliseconds, 2),
            "times_plain": round(milliseconds / times[PLAIN, 1], 2),
            "steps": passes,
            "device": device,
            "threads": threads,
        }
        for (way, n_environments), milliseconds in times.items()
    ]
    return {"cost/diagnosis.csv": pd.DataFrame(rows)}
