"""The small problems whose solutions are trained and scored. All seeds of a problem are trained at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from ilc.consistency import Loss
from ilc.errors import UserError
from ilc.objectives._irm import squared_norm
from lab.data import make_spirals
from lab.experiments.theory import landscape, linear_regression
from lab.experiments.theory.many_seeds import Schedule, SeedRisk
from lab.machine.seeding import generator_for, seed_for
from lab.models import MLP

HIDDEN_UNITS = 12


@dataclass(frozen=True)
class Problem:
    """The data, the risk and the start of S seeds, and how to train and test them.

    Attributes:
        name: the name in tables.
        predict: the function from parameters ``[P]`` and inputs to outputs ``[N, ...]``.
        loss: the function from outputs and targets to the risk.
        inputs: ``[S, E, ...]``.
        targets: ``[S, E, ...]``.
        start: ``[S, P]``.
        schedule: the settings of the descent, the same for every aggregator.
        thresholds: the thresholds of the AND-mask. With few environments, many thresholds give the same mask.
        test: the function that measures the parameters of seed s on data from other environments.
        test_name: the name of the measure that ``test`` returns.
        irm_weight: the factor of the IRM penalty; None if the problem has no outputs that IRM could scale.
    """

    name: str
    predict: Callable[[Tensor, Tensor], Tensor]
    loss: Callable[[Tensor, Tensor], Tensor]
    inputs: Tensor
    targets: Tensor
    start: Tensor
    schedule: Schedule
    thresholds: tuple[float, ...]
    test: Callable[[int, Tensor], float]
    test_name: str
    irm_weight: float | None

    def risk(self, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """Return the risk of one environment of one seed."""
        return self.loss(self.predict(theta, x), y)

    def irm_objective(self) -> SeedRisk:
        """Return the objective of IRM: the risk plus ``irm_weight`` times the penalty (IRMv1).

        Raises:
            UserError: the problem has no outputs to scale.
        """
        if self.irm_weight is None:
            raise UserError(
                f"the {self.name} has no outputs to scale, so that IRM is not defined for it: choose another "
                "method"
            )
        weight = self.irm_weight

        def objective(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
            outputs = self.predict(theta, x)
            # irm_penalty needs several examples, and the regression has only one per environment.
            penalty = squared_norm(outputs, y, self.loss)
            # The IRM authors also divide by the weight, so that the learning rate fits any weight.
            total: Tensor = self.loss(outputs, y) + weight * penalty
            return total / max(1.0, weight)

        return objective

    def losses(self, seed: int) -> list[Loss]:
        """Return the risk of every environment of one seed, as functions of the parameters ``[P]``."""
        pairs = zip(self.inputs[seed], self.targets[seed], strict=True)
        return [_loss(self.risk, x, y) for x, y in pairs]


def _loss(risk: SeedRisk, x: Tensor, y: Tensor) -> Loss:
    return lambda theta: risk(theta, x, y)


def two_parameters(n_seeds: int, noise: float = 0.0) -> Problem:
    """Return figure 1's landscape. Its inputs are the environments' numbers, its outputs the risks."""
    held_out = landscape.environment_risk("held out")
    risk_a, risk_b = landscape.TRAINING

    def predict(theta: Tensor, environment: Tensor) -> Tensor:
        return torch.where(environment == 0, risk_a(theta), risk_b(theta))

    return Problem(
        name="two-parameter landscape",
        predict=predict,
        loss=lambda outputs, _: outputs,
        inputs=torch.tensor([0, 1]).expand(n_seeds, 2),
        targets=torch.zeros(n_seeds, 2),
        start=landscape.starts(n_seeds, generator_for(0, "landscape")),
        schedule=Schedule(lr=0.2, steps=5000),
        thresholds=(1.0,),
        test=lambda _, theta: float(held_out(theta)),
        test_name="test risk",
        irm_weight=None,
    )


def authors_regression(n_seeds: int, noise: float = 0.0) -> Problem:
    """Return the authors' linear regression with their settings, without noise."""
    inputs = linear_regression.make_inputs()
    start = torch.randn(
        n_seeds, inputs.shape[1], generator=generator_for(0, "regression"), dtype=inputs.dtype
    )
    return Problem(
        name="linear regression",
        predict=lambda theta, x: x @ theta,
        loss=lambda output, y: 0.5 * (output - y).square(),
        inputs=inputs.expand(n_seeds, -1, -1),
        targets=torch.ones(n_seeds, len(inputs), dtype=inputs.dtype),
        start=0.1 * start,
        schedule=Schedule(lr=0.3, steps=1000, lr_decay=0.9995, weight_decay=0.01),
        thresholds=(0.5, 1.0),
        test=lambda _, theta: float(linear_regression.risk(theta, linear_regression.unseen_environment())),
        test_name="test risk",
        irm_weight=0.1,
    )


def small_spirals(n_seeds: int, noise: float = 0.0, stop_at: float = 0.02) -> Problem:
    """Return spirals of one revolution in eight environments. The network allows exact Hessians."""
    data = [
        make_spirals(seed_for(s, "small spirals"), 8, 256, 8, 2000, revolutions=1.0) for s in range(n_seeds)
    ]
    torch.manual_seed(seed_for(0, "small networks"))
    model = MLP(data[0].inputs.shape[2], 2, hidden_units=HIDDEN_UNITS, hidden_layers=2).double()
    shapes = {name: p.shape for name, p in model.named_parameters()}
    sizes = [shape.numel() for shape in shapes.values()]

    def predict(theta: Tensor, x: Tensor) -> Tensor:
        pieces = zip(shapes.items(), torch.split(theta, sizes), strict=True)
        parameters = {name: piece.view(shape) for (name, shape), piece in pieces}
        outputs: Tensor = functional_call(model, parameters, (x,))
        return outputs

    def accuracy(seed: int, theta: Tensor) -> float:
        test = data[seed].evaluation["test"]
        correct = predict(theta, test.inputs.double()).argmax(1) == test.targets
        return float(correct.double().mean())

    starts = []
    for _ in range(n_seeds):
        fresh = MLP(data[0].inputs.shape[2], 2, hidden_units=HIDDEN_UNITS, hidden_layers=2).double()
        starts.append(torch.cat([p.detach().flatten() for p in fresh.parameters()]))
    return Problem(
        name=f"spirals, {sum(sizes)} parameters",
        predict=predict,
        loss=F.cross_entropy,
        inputs=torch.stack([d.inputs.double() for d in data]),
        targets=torch.stack([d.targets for d in data]),
        start=torch.stack(starts),
        schedule=Schedule(lr=0.01, steps=3000, weight_decay=1e-3, l1=1e-5, adam=True, stop_at=stop_at),
        thresholds=(0.25, 0.5, 0.75, 1.0),
        test=accuracy,
        test_name="test accuracy",
        irm_weight=100.0,
    )


def noisy_regression(n_seeds: int, noise: float = 0.0) -> Problem:
    """Return the authors' linear regression with noise on the private features, drawn for every seed."""
    inputs = torch.stack(
        [linear_regression.make_inputs(noise, generator_for(s, "noise")) for s in range(n_seeds)]
    )
    clean = authors_regression(n_seeds)
    seeds = [generator_for(s, "weights") for s in range(n_seeds)]
    drawn = [torch.randn(clean.start.shape[1], generator=seed, dtype=inputs.dtype) for seed in seeds]
    return replace(clean, inputs=inputs, start=0.1 * torch.stack(drawn))


PROBLEMS: dict[str, Callable[[int, float], Problem]] = {
    "two_parameters": two_parameters,
    "authors_regression": authors_regression,
    "noisy_regression": noisy_regression,
    "small_spirals": small_spirals,
}
"""The functions that make the problems, by the name in configs.

Their arguments are the number of seeds and the noise. Only one problem uses the noise."""
