"""Spirals at the paper's size, trained to a common risk, for the score by Hessian-vector products.

All methods have the same settings. Training stops at the first step whose training risk is low enough. The
reason is that curvature shrinks with the risk of a cross-entropy. So the score cannot compare solutions of
different risk.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ilc.consistency import Loss, environment_losses
from ilc.consistency._large import LowRankExpansion, expand
from ilc.objectives import RISKS
from lab.experiments.measurement import trained
from lab.machine.seeding import generator_for

METHODS: dict[str, float | None] = {"mean": None, "and_mask": 0.9, "geometric_mean": 0.9}
"""The aggregators and their agreement thresholds."""
SETTINGS = (
    "~tuned",
    "dataset.revolutions=3.0",
    "dataset.batch_size=256",
    "optimizer.lr=0.017",
    "optimizer.weight_decay=1.0e-3",
    "optimizer.decoupled=true",
    "optimizer.l1=1.0e-5",
)
"""The settings of all methods.

A short manual search for the AND-mask on spirals of three revolutions found them."""
STOP_AT = 0.01
LANCZOS_STEPS = 20


@dataclass(frozen=True)
class NetworkSolution:
    """A trained network: parameters ``[P]``, a loss per environment, steps taken, and test accuracy."""

    theta: Tensor
    losses: list[Loss]
    steps: int
    test_accuracy: float

    def expansions(self) -> list[LowRankExpansion]:
        """Return the leading curvature of every environment."""
        generator = generator_for(0, "lanczos")
        return [expand(loss, self.theta, LANCZOS_STEPS, generator) for loss in self.losses]


def train_network(seed: int, method: str, *overrides: str) -> NetworkSolution:
    """Train the 3 x 256 perceptron on 32 environments of 1,280 examples, and return the solution."""
    threshold = METHODS[method]
    votes = (
        []
        if threshold is None
        else [f"aggregator.agreement_threshold={threshold}", "aggregator.rescale=true"]
    )
    run = trained(
        [
            "experiment=spirals",
            *SETTINGS,
            f"aggregator={method}",
            *votes,
            f"seed={seed}",
            f"trainer.stop_at_loss={STOP_AT}",
            "trainer.stop_when_memorised=false",
            *overrides,
        ]
    )
    risk = RISKS["cross_entropy"]
    losses, theta = environment_losses(run.model, risk, run.data.inputs, run.data.targets)
    return NetworkSolution(theta, losses, run.task.step, run.metrics[-1]["test/accuracy"])
