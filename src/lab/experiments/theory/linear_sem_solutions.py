"""The linear structural equation model's committed solutions, as scoring takes them.

Nothing is trained here: the weights are those of ``results/irm/linear_runs.csv``, the environments
those that each run's seed generates (``conf/experiment/linear_sem.yaml``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc.consistency._derivatives import Loss
from ilc.errors import UserError
from lab.data import make_linear_sem
from lab.machine.seeding import seed_for

METHODS: dict[str, float | None] = {
    "mean": None,
    "and_mask": 0.9,
    "geometric_mean": 0.9,
    "irm_penalty": None,
}
"""Aggregators and the agreement thresholds they ran with; with two environments both have to agree."""
WEIGHTS = [f"weight/{i}" for i in range(4)]
TEST = "test_s0.01/loss"
"""At the one scale that no environment trained on. What a solution takes from Z costs most there, for Z's
noise does not shrink with s. The worst test environment is s = 1, where Z helps: it would reward Z."""
TEST_NAME = "test risk (s = 0.01)"


@dataclass(frozen=True)
class LinearSemSolution:
    """One run: its weights ``[4]`` in float64, X's first, and the risk of both training environments."""

    aggregator: str
    seed: int
    steps: int
    theta: Tensor
    losses: list[Loss]
    test: float


def linear_sem_solutions(runs: Path, n_seeds: int) -> Iterator[LinearSemSolution]:
    """The solutions of the first ``n_seeds`` seeds (or as many as were run), method by method.

    Raises:
        UserError: no table of runs, or one without the columns that scoring needs.
    """
    if not runs.is_file():
        raise UserError(
            f"no linear_sem solutions at {runs}: `python scripts/study.py --list` says how to make them"
        )
    table = pd.read_csv(runs)
    missing = [name for name in ("aggregator", "seed", "step", TEST, *WEIGHTS) if name not in table]
    if missing:
        raise UserError(
            f"{runs} has no column {missing[0]}: make it again, `python scripts/study.py --list` says how"
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
