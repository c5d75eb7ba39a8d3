"""The authors' linear regression: which solution each aggregator ends in, and how noise breaks the mask."""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.experiments.measurement import Parts, Tables
from ilc.experiments.theory import linear_regression
from ilc.experiments.theory.many_seeds import Schedule, train_seeds
from ilc.seeding import generator_for

AGGREGATORS: dict[str, Aggregator] = {
    "mean": Mean(),
    "and_mask": AndMask(1.0),
    "geometric_mean": GeometricMean(1.0),
}
SCHEDULE = Schedule(lr=0.3, steps=1000, lr_decay=0.9995, weight_decay=0.01)
NOISE = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.3)
KEEP_EVERY = 10


def parts(seeds: int = 20) -> Parts:
    """A part per aggregator and level of noise, seconds each; all seeds are trained together.

    ``consistency/linear_regression.csv`` holds the weights along training without noise,
    ``consistency/linear_regression_noise.csv`` the final weights and risks at every level.

    Args:
        seeds: how many, from 0.
    """
    return {
        f"{name}-noise{noise:g}": partial(_measure, name, noise, seeds)
        for name in AGGREGATORS
        for noise in NOISE
    }


def _measure(name: str, noise: float, n_seeds: int) -> Tables:
    inputs = torch.stack(
        [linear_regression.make_inputs(noise, generator_for(s, "noise")) for s in range(n_seeds)]
    )
    curves: list[dict[str, float | int | str]] = []
    final = _train(name, inputs, curves)
    finals = [
        {"aggregator": name, "noise": noise, "seed": seed, **_described(theta, inputs[seed])}
        for seed, theta in enumerate(final)
    ]
    tables: Tables = {"consistency/linear_regression_noise.csv": pd.DataFrame(finals)}
    if noise == 0:
        tables["consistency/linear_regression.csv"] = pd.DataFrame(curves)
    return tables


def _train(name: str, inputs: Tensor, curves: list[dict[str, float | int | str]]) -> Tensor:
    """Final weights ``[S, 5]``; those along the way are added to ``curves``."""
    n_seeds = len(inputs)
    start = torch.stack(
        [
            0.1 * torch.randn(5, generator=generator_for(s, "weights"), dtype=inputs.dtype)
            for s in range(n_seeds)
        ]
    )

    def watch(step: int, theta: Tensor) -> None:
        if step % KEEP_EVERY == 0:
            for seed in range(n_seeds):
                curves.append({"aggregator": name, "seed": seed, "step": step, **_weights(theta[seed])})

    def risk(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        del y
        return linear_regression.risk(theta, x)

    targets = torch.ones(inputs.shape[:2], dtype=inputs.dtype)
    return train_seeds(risk, risk, inputs, targets, start, AGGREGATORS[name], SCHEDULE, watch).parameters


def _weights(theta: Tensor) -> dict[str, float]:
    names = [f"private_{i + 1}" for i in range(len(theta) - 1)] + ["shared"]
    return dict(zip(names, theta.tolist(), strict=True))


def _described(theta: Tensor, inputs: Tensor) -> dict[str, float]:
    return _weights(theta) | {
        "train_risk": float(linear_regression.risk(theta, inputs).mean()),
        "test_risk": float(linear_regression.risk(theta, linear_regression.unseen_environment())),
    }
