"""Spirals at the paper's size: train until a common risk, then score by Hessian-vector products.

The settings are those of ``conf/tuned/spirals/and_mask.yaml`` for all aggregators. Training stops at
the first evaluation whose training risk is low enough, because curvature shrinks with the risk of a
cross-entropy: solutions of unlike risk cannot be compared by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.consistency.derivatives import Loss
from ilc.consistency.large import LowRankExpansion, expand
from ilc.consistency.network import environment_losses
from ilc.data import EnvironmentBatches, make_spirals
from ilc.gradients import backward
from ilc.models import MLP
from ilc.objectives import RISKS
from ilc.optim import Regularizer
from ilc.seeding import generator_for, seed_for

PAPER_AGGREGATORS: tuple[tuple[str, float | None], ...] = (
    ("mean", None),
    ("and_mask", 0.9),
    ("geometric_mean", 0.9),
)
STOP_AT = 0.01
LANCZOS_STEPS = 20


@dataclass(frozen=True)
class NetworkSolution:
    """A trained network: its parameters ``[P]``, one loss per environment, steps taken, test accuracy."""

    theta: Tensor
    losses: list[Loss]
    steps: int
    test_accuracy: float

    def expansions(self) -> list[LowRankExpansion]:
        """Leading curvature of every environment."""
        generator = generator_for(0, "lanczos")
        return [expand(loss, self.theta, LANCZOS_STEPS, generator) for loss in self.losses]


def train_network(seed: int, method: str, threshold: float | None, max_epochs: int = 93) -> NetworkSolution:
    """Train the 3 x 256 perceptron on 32 environments of 1,280 examples."""
    data = make_spirals(seed_for(seed, "data"))
    torch.manual_seed(seed_for(seed, "model and dropout"))
    model = MLP(data.inputs.shape[2], data.n_outputs)
    aggregator = _aggregator(method, threshold)
    risk = RISKS["cross_entropy"]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.017)
    regularizer = Regularizer(model.parameters(), weight_decay=1e-3, l1=1e-5, decoupled=True)
    milestones = [max_epochs // 2, 3 * max_epochs // 4]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=0.1)
    batches = EnvironmentBatches(data, 256, generator_for(seed, "batches"))
    pooled, test = data.pooled(), data.evaluation["test"]
    steps, low_enough = 0, False
    for _ in range(max_epochs):
        for inputs, targets in batches:
            lr = optimizer.param_groups[0]["lr"]
            result = backward(model, risk, inputs, targets, aggregator)
            regularizer.before_step()
            optimizer.step()
            regularizer.after_step(lr)
            steps += 1
            # The batch's risk is nearly free; only when it is low is the whole training set asked.
            if float(result.risks.mean()) <= 2 * STOP_AT:
                with torch.no_grad():
                    low_enough = float(risk(model(pooled.inputs), pooled.targets)) <= STOP_AT
                if low_enough:
                    break
        if low_enough:
            break
        scheduler.step()
    model.eval()
    with torch.no_grad():
        accuracy = float((model(test.inputs).argmax(1) == test.targets).double().mean())
    losses, theta = environment_losses(model, risk, data.inputs, data.targets)
    return NetworkSolution(theta, losses, steps, accuracy)


def _aggregator(method: str, threshold: float | None) -> Aggregator:
    if threshold is None:
        return Mean()
    return {"and_mask": AndMask, "geometric_mean": GeometricMean}[method](threshold, rescale=True)
