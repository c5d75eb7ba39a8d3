"""The cost of matching in a step: adaptive against fixed steps, with equally many model evaluations."""

from __future__ import annotations

import statistics
import time
from functools import partial

import pandas as pd
import torch

from lab.configuration.compose import compose_experiment
from lab.experiments.measurement import Parts, Tables
from lab.experiments.skip_intervals.methods import method_named
from lab.experiments.skip_intervals.options import SimulatorOptions
from lab.experiments.skip_intervals.trajectories import Trajectories
from lab.experiments.skip_intervals.unrolling import unrolled

SIZES = {"room_runner": (20, 20), "funnel_board": (36, 40)}
"""The size of a frame at the small scale, in pixels."""
WARM_UP = 3


def parts(steps: int = 60) -> Parts:
    """Return one part per domain; ``skip_intervals/step_cost.csv`` has a row per stage of its training.

    The time is that of unrolling, backward pass and optimizer step, on an otherwise idle machine with one
    thread. Both methods take turns on the same trajectories of noise, none of which ends. ``adaptive_ms`` and
    ``fixed_ms`` are medians over steps. ``ratio`` is the median of the ratios of neighbouring steps, with its
    quartiles.

    Args:
        steps: number of timed steps per stage and method.
    """
    return {domain: partial(_measure, domain, steps) for domain in SIZES}


def _measure(domain: str, steps: int) -> Tables:
    torch.set_num_threads(1)
    content = compose_experiment(["experiment=skip_intervals", f"dataset={domain}"])
    horizon, values = content["horizon"], content["stages"]
    options = SimulatorOptions(**content["simulator"])
    rows = []
    for calls, batch in dict.fromkeys(zip(values["calls"], values["batch_sizes"], strict=True)):
        times = timed(options, SIZES[domain], calls, batch, horizon, steps)
        adaptive, fixed = times["adaptive_without_exploration"], times["fixed_1"]
        lower, ratio, upper = statistics.quantiles([a / b for a, b in zip(adaptive, fixed, strict=True)])
        rows.append(
            {
                "dataset": domain,
                "calls": calls,
                "batch": batch,
                "horizon": horizon,
                "kernels": options.kernels,
                "adaptive_ms": 1000 * statistics.median(adaptive),
                "fixed_ms": 1000 * statistics.median(fixed),
                "ratio": ratio,
                "ratio_lower": lower,
                "ratio_upper": upper,
                "n": steps,
            }
        )
    return {"skip_intervals/step_cost.csv": pd.DataFrame(rows)}


def timed(
    simulator: SimulatorOptions, size: tuple[int, int], calls: int, batch: int, horizon: int, steps: int
) -> dict[str, list[float]]:
    """Return the seconds of each step by method; every step has ``calls`` model evaluations per window."""
    torch.manual_seed(0)
    noise = _noise(batch, calls * horizon + 1, size)
    rows, begin = torch.arange(batch), torch.zeros(batch, dtype=torch.long)
    models = {name: simulator.build() for name in ("adaptive_without_exploration", "fixed_1")}
    optimizers = {name: torch.optim.Adam(model.parameters()) for name, model in models.items()}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for step in range(WARM_UP + steps):
        for name, model in models.items():
            began = time.perf_counter()
            seen = unrolled(model, noise, rows, begin, method_named(name, horizon), calls, truth=0, random=0)
            optimizers[name].zero_grad()
            seen.loss.backward()  # type: ignore[no-untyped-call]
            optimizers[name].step()
            if step >= WARM_UP:
                seconds[name].append(time.perf_counter() - began)
            assert seen.evaluations == calls * batch
    return seconds


def _noise(n: int, length: int, size: tuple[int, int]) -> Trajectories:
    frames = (torch.rand(n * length, 3, *size) < 0.5).to(torch.uint8)
    lengths = torch.full((n,), length)
    return Trajectories(frames, length * torch.arange(n), lengths, torch.zeros(n, dtype=torch.long))
