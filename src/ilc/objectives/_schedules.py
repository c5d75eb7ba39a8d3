"""How a penalty's weight depends on the number of optimizer steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class PenaltySchedule:
    """The weight as a function of the step. It has no other state, so a resumed run needs none.

    Attributes:
        name: ``constant``; ``step``, which jumps from the initial weight to the final one after ``steps``
            optimizer steps (the IRM authors); or ``ramp``, which rises over these steps as
            (step / steps) ** power (the Colored MNIST reimplementation: from 0, with power 1.6, by epochs).
        weight: the final weight.
        steps: the step at which the final weight is reached; ``constant`` does not use it.
        initial: the weight at the start; ``constant`` does not use it.
        power: the shape of the ramp. 1 is a straight line; with more the weight rises later.

    Raises:
        UserError: the name is unknown, a weight is negative or not finite, or there are too few steps.
    """

    name: str
    weight: float
    steps: int
    initial: float
    power: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            raise UserError(
                f"a schedule's name (key aggregator.schedule) must be one of {', '.join(SCHEDULES)}, got "
                f"{self.name!r}"
            )
        if not all(0 <= weight < math.inf for weight in (self.weight, self.initial)):
            raise UserError(
                "weight and initial (keys aggregator.penalty_weight and aggregator.initial_weight) must be "
                f"finite and at least 0, got {self.weight} and {self.initial}"
            )
        if not 0 < self.power < math.inf:
            raise UserError(f"power (key aggregator.ramp_power) must be finite and above 0, got {self.power}")
        # A jump after 0 steps is a constant weight. A ramp would divide by 0.
        fewest = {"constant": self.steps, "step": 0}.get(self.name, 1)
        if self.steps < fewest:
            raise UserError(
                f"the schedule {self.name!r} needs steps (key aggregator.schedule_steps) of at least "
                f"{fewest}, got {self.steps}"
            )

    def __call__(self, step: int) -> float:
        """The weight of the next step, after ``step`` steps."""
        return SCHEDULES[self.name](self, step)

    def jumps_at(self, step: int) -> bool:
        """Whether the weight jumps before the next step, after ``step`` steps."""
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
