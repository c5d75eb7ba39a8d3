"""Scores of the same solutions by every method of ``score_solution``, and with several dampings.

A logistic regression is small enough for all methods. A perceptron of 301 parameters has more curvature than
the 60 products of ``hessian_vector`` find.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F

from ilc.consistency import score_solution
from lab.experiments.measurement import Parts, Tables

EPSILONS = (0.001, 0.01, 0.1)
DAMPINGS = (0.1, 0.01, 0.001)
METHODS = ("quadratic", "hessian_vector", "search")
"""The methods; the first two are of second order, and have a damping."""

SIZES = (0.5, 1.25, 2.0)
"""The size of each environment's inputs."""

N_EXAMPLES, N_INPUTS = 300, 4


def parts(seeds: int = 5) -> Parts:
    """Return the parts of ``theory/score_methods.csv``: one per model and seed.

    A regression takes a minute, most of it in ``search``. A perceptron takes seconds.

    Args:
        seeds: the number of seeds, which begin with 0.
    """
    scores = {"regression": score_regression, "perceptron": score_perceptron}
    return {
        f"{name}-seed{seed}": partial(score, seed) for name, score in scores.items() for seed in range(seeds)
    }


def score_regression(seed: int) -> Tables:
    """Score a logistic regression with five parameters by each method, for each epsilon."""
    torch.manual_seed(seed)
    settings = [{"epsilon": epsilon, "method": method} for epsilon in EPSILONS for method in METHODS]
    return _scores("logistic regression", seed, nn.Linear(N_INPUTS, 1), settings)


def score_perceptron(seed: int) -> Tables:
    """Score a perceptron of 301 parameters by both second-order methods, with each damping."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(N_INPUTS, 50), nn.Tanh(), nn.Linear(50, 1))
    settings = [{"damping": damping, "method": method} for damping in DAMPINGS for method in METHODS[:2]]
    return _scores("perceptron", seed, model, settings)


def environments(seed: int) -> tuple[Tensor, Tensor]:
    """Return inputs ``[3, 300, 4]`` of three sizes and noisy labels ``[3, 300]``, in double precision."""
    random = torch.Generator().manual_seed(seed)
    shape = (len(SIZES), N_EXAMPLES)
    inputs = torch.randn(*shape, N_INPUTS, generator=random, dtype=torch.float64)
    inputs *= torch.tensor(SIZES, dtype=torch.float64)[:, None, None]
    noise = torch.randn(*shape, generator=random, dtype=torch.float64)
    return inputs, (inputs[..., 0] + 0.5 * noise > 0).double()


def risk(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the mean risk of one environment."""
    return F.binary_cross_entropy_with_logits(outputs[..., 0], labels)


def train(model: nn.Module, inputs: Tensor, labels: Tensor) -> None:
    """Take at most 100 steps of L-BFGS on the mean risk."""
    optimizer = optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def mean_risk() -> Tensor:
        optimizer.zero_grad()
        mean = risk(model(inputs), labels)
        mean.backward()  # type: ignore[no-untyped-call]
        return mean

    optimizer.step(mean_risk)  # type: ignore[no-untyped-call]


def _scores(name: str, seed: int, model: nn.Module, settings: list[dict[str, Any]]) -> Tables:
    inputs, labels = environments(seed)
    model = model.double()
    train(model, inputs, labels)
    rows = []
    for setting in settings:
        began = time.process_time()
        with warnings.catch_warnings():
            # Epsilon 0.1 is too large for the quadratic model, and the tables show by how much.
            warnings.filterwarnings("ignore", "the consistency score")
            found = score_solution(model, risk, inputs, labels, groups=0, progress=False, **setting)
        rows.append(
            {
                "model": name,
                "parameters": sum(p.numel() for p in model.parameters()),
                "seed": seed,
                "epsilon": found.epsilon,
                "damping": found.damping,
                "method": found.method,
                "score": found.score,
                "cpu_seconds": round(time.process_time() - began, 3),
            }
        )
    return {"theory/score_methods.csv": pd.DataFrame(rows)}
