"""Invariant Risk Minimization: a mean, after a penalty was added to every environment's risk."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators.mean import Mean
from ilc.errors import UserError
from ilc.objectives import (
    ESTIMATORS,
    Objective,
    ObjectiveFunction,
    PenaltySchedule,
    RiskFunction,
    irm_penalty,
)


class IrmPenalty(Mean):
    """Minimise the mean over environments of risk + weight * penalty (IRMv1; paper, equation 7).

    The weight follows a schedule of optimizer steps, ``self.step``, which the training loop keeps
    current; in a loop of your own set it before each ``ilc.backward``.

    Args:
        penalty_weight: lambda, the final one.
        schedule: ``constant``, ``step`` or ``ramp``; see ``PenaltySchedule``.
        schedule_steps: optimizer steps until ``step`` jumps or ``ramp`` ends.
        initial_weight: where ``step`` and ``ramp`` start; 0 or 1 is usual.
        ramp_power: shape of ``ramp``; 1 is a straight line, more rises later.
        estimator: ``squared_norm`` or ``two_halves``; see ``irm_penalty``. For the second every
            step draws new halves.
        rescale_loss: divide the loss, coupled weight decay included, by a weight above 1, as the
            IRM authors do.
        reset_optimizer: forget the optimizer's moments when ``step`` jumps.

    Raises:
        UserError: an option out of range.
    """

    needs_environments = True
    has_irm_penalty = True

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
        if estimator not in ESTIMATORS:
            raise UserError(f"aggregator.estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
        self.schedule = PenaltySchedule(schedule, penalty_weight, schedule_steps, initial_weight, ramp_power)
        self.estimator = estimator
        self.rescale_loss = rescale_loss
        self.reset_optimizer = reset_optimizer

    @property
    def penalty_weight(self) -> float:
        """The penalty's weight at the coming step."""
        return self.schedule(self.step)

    @property
    def loss_scale(self) -> float:
        """What the whole loss is multiplied by at the coming step."""
        return 1 / max(1.0, self.penalty_weight) if self.rescale_loss else 1.0

    @property
    def restarts_optimizer(self) -> bool:
        """Whether the optimizer forgets its moments before the coming step."""
        return self.reset_optimizer and self.schedule.jumps_at(self.step)

    def objective(self, risk_function: RiskFunction) -> ObjectiveFunction:
        """Risk plus weighted penalty of one environment, at the coming step's weight."""
        scale = self.loss_scale
        # Multiplied out first, so that a rescaled loss cannot overflow at a large weight.
        scaled_weight = self.penalty_weight * scale

        def risk_and_penalty(outputs: Tensor, targets: Tensor) -> Objective:
            risk = risk_function(outputs, targets)
            if self.estimator == "two_halves":
                # Sorted random numbers, because vmap cannot draw a permutation per environment.
                order = torch.rand(len(outputs), device=outputs.device).argsort()
                outputs, targets = outputs[order], targets[order]
            penalty = irm_penalty(outputs, targets, risk_function, self.estimator)
            return Objective(scale * risk + scaled_weight * penalty, risk, penalty)

        return risk_and_penalty

    def not_finite(self, steps_taken: int, lr: float) -> str:
        """The message for a penalty that is NaN or infinite at the step after ``steps_taken``."""
        return (
            f"training diverged: the IRM penalty is not finite at step {steps_taken + 1}, where its weight "
            f"is {self.schedule(steps_taken):g} and the learning rate {lr:g}. Take a smaller "
            "aggregator.penalty_weight or optimizer.lr, or let the weight grow with "
            "aggregator.schedule=ramp. What was written before stays as it is"
        )
