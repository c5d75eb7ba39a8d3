"""How a penalty's weight moves with the number of optimizer steps taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class PenaltySchedule:
    """The weight as a function of the step, with no other state: a resumed run needs nothing more.

    Attributes:
        name: ``constant``; ``step``, from the initial weight to the final one after ``steps``
            optimizer steps (the IRM authors); ``ramp``, gradually over them, as (step / steps) to
            the power of ``power`` (the Colored MNIST reimplementation: from 0, epoch to the 1.6).
        weight: the final one.
        steps: when it is reached; constant has no use for it.
        initial: where it starts; constant has no use for it.
        power: shape of the ramp: 1 is a straight line, more rises later.

    Raises:
        UserError: an unknown name, a weight that is negative or not finite, too few steps.
    """

    name: str
    weight: float
    steps: int
    initial: float
    power: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            raise UserError(f"aggregator.schedule must be one of {', '.join(SCHEDULES)}, got {self.name!r}")
        if not all(0 <= weight < math.inf for weight in (self.weight, self.initial)):
            raise UserError(
                "aggregator.penalty_weight and aggregator.initial_weight must be finite and at least 0, "
                f"got {self.weight} and {self.initial}"
            )
        if not 0 < self.power < math.inf:
            raise UserError(f"aggregator.ramp_power must be finite and above 0, got {self.power}")
        # A step after 0 steps is the constant weight; a ramp would divide by them.
        fewest = {"constant": self.steps, "step": 0}.get(self.name, 1)
        if self.steps < fewest:
            raise UserError(
                f"aggregator.schedule={self.name} needs aggregator.schedule_steps of at least {fewest}, "
                f"got {self.steps}"
            )

    def __call__(self, step: int) -> float:
        """The weight of the step that follows after ``step`` steps were taken."""
        return SCHEDULES[self.name](self, step)

    def jumps_at(self, step: int) -> bool:
        """Whether the weight jumps right before the step that follows after ``step`` steps."""
        return self.name == "step" and step == self.steps


def _constant(schedule: PenaltySchedule, step: int) -> float:
    return schedule.weight


def _step(schedule: PenaltySchedule, step: int) -> float:
    return schedule.initial if step < schedule.steps else schedule.weight


def _ramp(schedule: PenaltySchedule, step: int) -> float:
    fraction: float = min(1.0, step / schedule.steps) ** schedule.power
    return schedule.initial + fraction * (schedule.weight - schedule.initial)


SCHEDULES: dict[str, Callable[[PenaltySchedule, int], float]] = {
    "constant": _constant,
    "step": _step,
    "ramp": _ramp,
}
"""Schedules by the name used in configs."""
