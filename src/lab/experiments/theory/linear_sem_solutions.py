"""The committed solutions of the linear structural equation model, in the form that scoring needs.

Nothing is trained here. The weights are those of ``results/irm/linear_runs.csv``. The environments are those
that each run's seed generates (``conf/experiment/linear_sem.yaml``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc.consistency import Loss
from ilc.errors import UserError
from lab.data import make_linear_sem
from lab.machine.seeding import seed_for

METHODS: dict[str, float | None] = {
    "mean": None,
    "and_mask": 0.9,
    "geometric_mean": 0.9,
    "irm_penalty": None,
}
"""The aggregators and the agreement thresholds of their runs.

There are two environments, so a component passes a mask only if both agree."""
WEIGHTS = [f"weight/{i}" for i in range(4)]
TEST = "test_s0.01/loss"
"""The test risk at the one scale that is in no training environment.

A solution that uses Z loses most at this scale, because Z's noise does not shrink with s. The test
environment with the highest risk is s = 1, but there Z helps, so its risk would reward the use of Z."""
TEST_NAME = "test risk (s = 0.01)"


@dataclass(frozen=True)
class LinearSemSolution:
    """One run: its weights ``[4]`` in float64, X's first, and the risks of both training environments."""

    aggregator: str
    seed: int
    steps: int
    theta: Tensor
    losses: list[Loss]
    test: float


def linear_sem_solutions(runs: Path, n_seeds: int) -> Iterator[LinearSemSolution]:
    """Yield the solutions of the first ``n_seeds`` seeds (or as many as were run), method by method.

    Raises:
        UserError: there is no table of runs, or it lacks a column that scoring needs.
    """
    if not runs.is_file():
        raise UserError(
            f"there are no linear_sem solutions at {runs}: `python scripts/study.py --list` says how to make "
            "them"
        )
    table = pd.read_csv(runs)
    missing = [name for name in ("aggregator", "seed", "step", TEST, *WEIGHTS) if name not in table]
    if missing:
        raise UserError(
            f"{runs} has no column {missing[0]}: make this file again. "
            "`python scripts/study.py --list` says how"
        )
    losses = {int(seed): _training_losses(int(seed)) for seed in table.seed.unique() if seed < n_seeds}
    for aggregator in METHODS:
        for _, run in table[(table.aggregator == aggregator) & (table.seed < n_seeds)].iterrows():
            theta = torch.tensor([float(run[name]) for name in WEIGHTS], dtype=torch.float64)
            seed = int(run.seed)
            yield LinearSemSolution(aggregator, seed, int(run.step), theta, losses[seed], float(run[TEST]))


def _training_losses(seed: int) -> list[Loss]:
    data = make_linear_sem(seed=seed_for(seed, "data"))
    return [_mean_squared_error(x, y) for x, y in zip(data.inputs, data.targets[..., 0], strict=True)]


def _mean_squared_error(inputs: Tensor, targets: Tensor) -> Loss:
    x, y = inputs.double(), targets.double()
    return lambda theta: F.mse_loss(x @ theta, y)
