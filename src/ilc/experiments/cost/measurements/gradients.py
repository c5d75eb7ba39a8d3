"""Time and memory of every way to obtain environment gradients, side by side in one run.

Time: one AND-mask step of the paper's 3 x 256 perceptron with E = 32 environments, median of many
steps taken in turn, so that a drifting machine drifts for all. Memory: peak of a fresh process per
row beyond what it holds before its first step (Linux), with N = 64 examples per environment.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.experiments.cost.step_cost import median_milliseconds, peak_in_own_process, print_peak
from ilc.experiments.measurement import Parts, Tables
from ilc.gradients import backward
from ilc.models import MLP

AGGREGATOR = AndMask(0.9)
ENVIRONMENTS = 32
BATCH_SIZES = (4, 16, 64, 128, 256)
MEMORY_ENVIRONMENTS = (8, 512)
MEMORY_EXAMPLES = 64


def plain(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """One ordinary backward pass over all environments pooled."""
    model.zero_grad()
    F.cross_entropy(model(inputs.flatten(0, 1)), targets.flatten()).backward()  # type: ignore[no-untyped-call]


def vectorized(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Ours, all environments at once."""
    backward(model, F.cross_entropy, inputs, targets, AGGREGATOR, "vectorized")


def sequential(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Ours, one environment at a time."""
    backward(model, F.cross_entropy, inputs, targets, AGGREGATOR, "sequential")


def plain_loop(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """What one writes first: ``autograd.grad`` per environment, stack, mask."""
    parameters = list(model.parameters())
    rows = [
        torch.autograd.grad(F.cross_entropy(model(x), y), parameters)
        for x, y in zip(inputs, targets, strict=True)
    ]
    for p, gradients in zip(parameters, zip(*rows, strict=True), strict=True):
        stacked = torch.stack(gradients)
        keep = stacked.sign().sum(0).abs() >= 0.9 * len(inputs)
        p.grad = stacked.mean(0) * keep


WAYS: dict[str, Callable[[nn.Module, Tensor, Tensor], None]] = {
    "plain training": plain,
    "vectorized": vectorized,
    "sequential": sequential,
    "plain loop": plain_loop,
}


def batch(n_environments: int, n_examples: int) -> tuple[Tensor, Tensor]:
    """Random inputs and labels of the spirals' shape."""
    return torch.randn(n_environments, n_examples, 34), torch.randint(0, 2, (n_environments, n_examples))


def parts(steps: int = 30, threads: int = 2) -> Parts:
    """``benchmark/gradients_time.csv`` and ``benchmark/gradients_memory.csv``, minutes on an idle machine.

    Args:
        steps: timed steps per way.
        threads: CPU threads of the timed steps.
    """
    return {"time": partial(_time, steps, threads), "memory": _memory}


def _time(steps: int, threads: int) -> Tables:
    """Median milliseconds per step, and the ratios to plain training and to the plain loop."""
    torch.set_num_threads(threads)
    rows = []
    for n_examples in BATCH_SIZES:
        model, data = MLP(34, 2), batch(ENVIRONMENTS, n_examples)
        ways = {name: partial(way, model, *data) for name, way in WAYS.items()}
        median = median_milliseconds(ways, steps)
        rows += [
            {
                "batch_size": n_examples,
                "way": name,
                "milliseconds": round(median[name], 2),
                "times_plain": round(median[name] / median["plain training"], 2),
                "speedup_over_loop": round(median["plain loop"] / median[name], 2),
            }
            for name in WAYS
        ]
    return {"benchmark/gradients_time.csv": pd.DataFrame(rows)}


def _memory() -> Tables:
    """Peak megabytes beyond model and batch, each measured in a process of its own."""
    rows = []
    jobs = [(name, e) for name in ("sequential", "vectorized", "plain loop") for e in MEMORY_ENVIRONMENTS]
    for name, n_environments in jobs:
        process, beyond, _ = peak_in_own_process(print_peak_of, name, n_environments)
        rows.append(
            {
                "way": name,
                "environments": n_environments,
                "batch_size": MEMORY_EXAMPLES,
                "batch_mb": round(n_environments * MEMORY_EXAMPLES * 34 * 4 / 2**20, 1),
                "process_peak_mb": round(process, 1),
                "step_peak_mb": round(beyond, 1),
            }
        )
    return {"benchmark/gradients_memory.csv": pd.DataFrame(rows)}


def print_peak_of(name: str, n_environments: int) -> None:
    """Print the peak of this process, and the peak beyond what it held with model and batch in place."""
    torch.set_num_threads(1)
    model, data = MLP(34, 2), batch(n_environments, MEMORY_EXAMPLES)
    small = batch(2, MEMORY_EXAMPLES)
    print_peak(lambda: WAYS[name](model, *data), lambda: WAYS[name](model, *small))
