"""Time and memory of every way to compute a masked gradient, in one run, on a CPU or a GPU.

Fast ways step in turn, so that a change in the machine's speed affects all of them. Ways that take a backward
pass per example step once, each in a process of its own. Memory is the peak of a fresh process beyond model
and batch, as Linux or CUDA reports it, in the first step and in later ones. The measurement takes twenty
minutes on an idle machine of two cores.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch

from lab.experiments.cost.ways import FEW, ONE_BY_ONE, PLAIN, WAYS, available, hooked, trained
from lab.experiments.cost.workloads import WORKLOADS, batch, model_of, workload_of
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import (
    Step,
    default_device,
    median_milliseconds,
    peak_in_own_process,
    print_peak,
)


def parts(steps: int | None = None, device: str | None = None, threads: int = 2) -> Parts:
    """Return the parts of ``cost/gradients.csv``: one part per network.

    Args:
        steps: the number of timed steps per fast way (default: a number that suits the network).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    device = device or default_device()
    return {
        name.replace(" ", "_"): partial(
            measure, "cost/gradients.csv", name, steps or workload.steps, device, threads
        )
        for name, workload in WORKLOADS.items()
    }


def prepared(name: str, way: str, n_environments: int, n_examples: int, device: str) -> Step:
    """Return one step of a way, with a model and a batch of its own."""
    model = hooked(way, model_of(name, device))
    return partial(WAYS[way], model, *batch(name, n_environments, n_examples, device))


def measure(file: str, name: str, steps: int, device: str, threads: int) -> Tables:
    """Return the table ``file`` with a row per way and per pair of E and N of one network."""
    torch.set_num_threads(threads)
    rows = []
    for pair in workload_of(name).grid:
        for row in _measure_pair(name, *pair, steps, device, threads):
            rows.append({"model": name, "environments": pair[0], "examples": pair[1], **row})
            rows[-1] |= {"device": device, "threads": threads}
    return {file: pd.DataFrame(rows)}


def _measure_pair(
    name: str, n_environments: int, n_examples: int, steps: int, device: str, threads: int
) -> list[dict[str, object]]:
    names = available(name, n_examples)
    many = n_environments > FEW or n_examples == 1
    slow = [way for way in names if many and way in ONE_BY_ONE]
    ways = {way: prepared(name, way, n_environments, n_examples, device) for way in names if way not in slow}
    # Adam is the rest of a training step. It takes the same time for all ways.
    model = model_of(name, device)
    for p in trained(model):
        p.grad = torch.randn_like(p)
    times = median_milliseconds({**ways, "Adam": torch.optim.Adam(trained(model), 1e-6).step}, steps)
    adam = times.pop("Adam")
    first_peaks: dict[str, float] = {}
    peaks: dict[str, float] = {}
    for way in names:
        if way in slow or (n_environments, n_examples) in workload_of(name).weighed:
            n_steps = 1 if way in slow else 3
            arguments = (name, way, n_environments, n_examples, n_steps, device, threads)
            first_peaks[way], peaks[way], _ = peak_in_own_process(print_peak_of, *arguments)
            if way in slow:
                _, _, times[way] = peak_in_own_process(print_peak_of, *arguments, as_allocated=False)
    return [
        {
            "way": way,
            "milliseconds": round(times[way], 2),
            "times_plain": round(times[way] / times[PLAIN], 2),
            "times_plain_with_adam": round((times[way] + adam) / (times[PLAIN] + adam), 2),
            "first_step_peak_mb": round(first_peaks[way], 1) if way in peaks else None,
            "step_peak_mb": round(peaks[way], 1) if way in peaks else None,
            "steps": 1 if way in slow else steps,
        }
        for way in names
    ]


def print_peak_of(
    name: str, way: str, n_environments: int, n_examples: int, steps: int, device: str, threads: int
) -> None:
    """Print the memory that the first step and later steps add, and a step's milliseconds."""
    torch.set_num_threads(threads)
    step = prepared(name, way, n_environments, n_examples, device)
    # A way that steps once is slow, and it computes with few environments what it computes with many.
    before = partial(prepared, name, way, 2 if steps == 1 else n_environments, n_examples, device)
    print_peak(step, before, steps, device)
