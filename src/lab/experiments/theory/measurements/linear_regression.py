"""The authors' linear regression: the solution of each aggregator, and how noise breaks the mask."""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor

from lab.experiments.measurement import Parts, Tables, trained
from lab.experiments.theory import linear_regression
from lab.experiments.theory.task import SmallProblemsTask

METHODS = ("mean", "and_mask", "geometric_mean")
NOISE = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.3)
N_WEIGHTS = 5


def parts(seeds: int = 20) -> Parts:
    """Return a part per aggregator and level of noise. Each takes seconds and trains all seeds together.

    ``theory/linear_regression.csv`` holds the weights during training without noise.
    ``theory/linear_regression_noise.csv`` holds the final weights and risks at every level of noise.

    Args:
        seeds: the number of seeds, which begin with 0.
    """
    return {
        f"{name}-noise{noise:g}": partial(_measure, name, noise, seeds) for name in METHODS for noise in NOISE
    }


def _measure(name: str, noise: float, n_seeds: int) -> Tables:
    problem = ["experiment=theory", "problem=noisy_regression", f"noise={noise}"]
    run = trained([*problem, f"method={name}", f"n_seeds={n_seeds}"])
    assert isinstance(run.task, SmallProblemsTask)
    inputs = run.task.problem.inputs
    finals = [
        {"aggregator": name, "noise": noise, "seed": seed, **_described(theta, inputs[seed])}
        for seed, theta in enumerate(run.task.model.solutions())
    ]
    tables: Tables = {"theory/linear_regression_noise.csv": pd.DataFrame(finals)}
    if noise == 0:
        rows = []
        for seed, start in enumerate(run.task.problem.start):
            rows.append({"aggregator": name, "seed": seed, "step": 0, **_weights(start)})
        for metrics in run.metrics:
            for seed in range(n_seeds):
                weights = [metrics[f"seed{seed}/weight/{i}"] for i in range(N_WEIGHTS)]
                theta = torch.tensor(weights, dtype=torch.float64)
                rows.append({"aggregator": name, "seed": seed, "step": metrics["step"], **_weights(theta)})
        tables["theory/linear_regression.csv"] = pd.DataFrame(rows)
    return tables


def _weights(theta: Tensor) -> dict[str, float]:
    names = [f"private_{i + 1}" for i in range(len(theta) - 1)] + ["shared"]
    return dict(zip(names, theta.tolist(), strict=True))


def _described(theta: Tensor, inputs: Tensor) -> dict[str, float]:
    return _weights(theta) | {
        "train_risk": float(linear_regression.risk(theta, inputs).mean()),
        "test_risk": float(linear_regression.risk(theta, linear_regression.unseen_environment())),
    }
