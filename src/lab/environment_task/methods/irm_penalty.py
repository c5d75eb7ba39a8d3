"""Invariant Risk Minimization: every environment's risk gets a penalty, and the gradients are averaged."""

from __future__ import annotations

import torch
from torch import Tensor, nn, optim

from ilc.aggregators import MeanOfEnvironments
from ilc.errors import UserError
from ilc.objectives import (
    ESTIMATORS,
    Objective,
    ObjectiveFunction,
    PenaltySchedule,
    Risk,
    RiskFunction,
    irm_penalty,
)
from ilc.objectives._irm import slope
from lab.data import Environments
from lab.environment_task.method import Metrics, TrainingMethod
from lab.environment_task.methods.irm_failures import WARNINGS, known_failure

EXAMPLES_AT_ONCE = 4096


class IrmPenalty(TrainingMethod):
    """Minimise the mean over environments of risk + weight * penalty (IRMv1; paper, equation 7).

    In your own loop, call ``ilc.backward`` with a loss that adds ``weight * ilc.irm_penalty(...)``, and
    with a ``Mean``. This class adds the schedule, the metrics and the warnings of a run.

    Args:
        penalty_weight: the final value of lambda.
        schedule: ``constant``, ``step`` or ``ramp``; see ``PenaltySchedule``.
        schedule_steps: the number of optimizer steps until ``step`` jumps or ``ramp`` ends.
        initial_weight: the weight at which ``step`` and ``ramp`` start; 0 or 1 is usual.
        ramp_power: the shape of ``ramp``; 1 is a straight line, a larger value rises later.
        estimator: ``squared_norm`` or ``two_halves``; see ``irm_penalty``. For the second every
            step draws new halves.
        rescale_loss: divide the loss, coupled weight decay included, by a weight above 1, as the
            IRM authors do.
        reset_optimizer: forget the optimizer's moments when ``step`` jumps.

    Raises:
        UserError: an option out of range.
    """

    adds_penalty = True

    def __init__(
        self,
        penalty_weight: float,
        schedule: str = "constant",
        schedule_steps: int = 1,
        initial_weight: float = 0.0,
        ramp_power: float = 1.6,
        estimator: str = "squared_norm",
        rescale_loss: bool = True,
        reset_optimizer: bool = False,
    ) -> None:
        super().__init__(MeanOfEnvironments())
        if estimator not in ESTIMATORS:
            raise UserError(f"aggregator.estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
        self.schedule = PenaltySchedule(schedule, penalty_weight, schedule_steps, initial_weight, ramp_power)
        self.estimator = estimator
        self.rescale_loss = rescale_loss
        self.reset_optimizer = reset_optimizer
        self.step = 0

    def before_step(self, step: int, optimizer: optim.Optimizer) -> None:
        """Follow the schedule. Before a jump, delete the moments of the optimizer if ``reset_optimizer``."""
        self.step = step
        if self.reset_optimizer and self.schedule.jumps_at(step):
            optimizer.state.clear()

    @property
    def penalty_weight(self) -> float:
        """The weight of the penalty at the next step."""
        return self.schedule(self.step)

    @property
    def loss_scale(self) -> float:
        """The factor of the whole loss at the next step."""
        return 1 / max(1.0, self.penalty_weight) if self.rescale_loss else 1.0

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """The risk plus the weighted penalty of one environment, with the weight of the next step."""
        scale = self.loss_scale
        # The factors are multiplied first, so that a rescaled loss cannot overflow at a large weight.
        scaled_weight = self.penalty_weight * scale

        def risk_and_penalty(outputs: Tensor, targets: Tensor) -> Objective:
            plain = risk(outputs, targets)
            if self.estimator == "two_halves":
                # Sorted random numbers, because vmap cannot draw a permutation per environment.
                order = torch.rand(len(outputs), device=outputs.device).argsort()
                outputs, targets = outputs[order], targets[order]
            penalty = irm_penalty(outputs, targets, risk, self.estimator)
            return Objective(scale * plain + scaled_weight * penalty, plain, penalty)

        return risk_and_penalty

    def penalty_not_finite(self, steps_taken: int, lr: float) -> str:
        """The message for a penalty that is NaN or infinite at the step after ``steps_taken``."""
        return (
            f"training diverged: the IRM penalty is not finite at step {steps_taken + 1}, where its weight "
            f"is {self.schedule(steps_taken):g} and the learning rate is {lr:g}. Take a smaller "
            "aggregator.penalty_weight or optimizer.lr, or let the weight grow with "
            "aggregator.schedule=ramp. The files written so far stay as they are"
        )

    def metrics(self, model: nn.Module, data: Environments, risk: Risk) -> Metrics:
        """``train/penalty``: the squared norm on all training examples, as the mean over the environments."""
        return {"train/penalty": evaluate_penalty(model, data, risk)}

    def warning(self, metrics: Metrics, data: Environments, risk: Risk) -> str | None:
        """The warning that the outputs are constant or the penalty is too weak, seen without test data."""
        mean_risk, penalty = metrics["train/loss"], metrics["train/penalty"]
        targets = data.pooled().targets
        silent = torch.zeros(len(targets), data.n_outputs, device=targets.device)
        accuracy_gain = None
        classes = risk.true_classes(targets)
        if classes is not None:
            accuracy_gain = metrics["train/accuracy"] - int(classes.bincount().max()) / len(targets)
        failure = known_failure(mean_risk, penalty, float(risk(silent, targets)), accuracy_gain)
        return None if failure is None else WARNINGS[failure].format(risk=mean_risk, penalty=penalty)


@torch.no_grad()
def evaluate_penalty(model: nn.Module, data: Environments, risk: Risk) -> float:
    """The mean IRM penalty of the environments (squared norm, no weight), on all training examples."""
    was_training = model.training
    model.eval()
    penalties = []
    for inputs, targets in zip(data.inputs, data.targets, strict=True):
        total = torch.zeros((), device=inputs.device, dtype=torch.float64)
        batches = zip(inputs.split(EXAMPLES_AT_ONCE), targets.split(EXAMPLES_AT_ONCE), strict=True)
        for x, y in batches:
            # The slope of a mean over examples is the mean of their slopes.
            total += slope(model(data.prepared(x)), y, risk).double() * len(x)
        penalties.append((total / len(inputs)).square())
    model.train(was_training)
    return float(torch.stack(penalties).mean())
