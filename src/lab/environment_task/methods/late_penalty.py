"""A penalty on all environments together whose weight jumps after some steps, and V-REx with it."""

from __future__ import annotations

from torch import optim

from ilc.aggregators import VRex
from ilc.aggregators._compare_variances import CompareVariances
from ilc.objectives import PenaltySchedule
from lab.environment_task.method import TrainingMethod


class LatePenalty(TrainingMethod):
    """The weight of the aggregator's penalty is ``initial_weight`` first, ``penalty_weight`` later.

    At the jump the moments of the optimizer are deleted, as in DomainBed.

    Args:
        aggregator: an aggregator with a penalty.
        penalty_weight: the weight after the jump.
        schedule_steps: the number of steps before the jump; 0 for none.
        initial_weight: the weight before the jump.

    Raises:
        UserError: a number is negative or not finite.
    """

    def __init__(
        self,
        aggregator: VRex | CompareVariances,
        penalty_weight: float,
        schedule_steps: int,
        initial_weight: float,
    ) -> None:
        super().__init__(aggregator)
        self._penalised = aggregator
        self.schedule = PenaltySchedule("step", penalty_weight, schedule_steps, initial_weight)

    def before_step(self, step: int, optimizer: optim.Optimizer) -> None:
        """Set the weight. Before a jump, delete the moments of the optimizer."""
        self._penalised.penalty_weight = self.schedule(step)
        if step > 0 and self.schedule.jumps_at(step):
            optimizer.state.clear()


class LateVRex(LatePenalty):
    """V-REx whose penalty begins late (Krueger et al., arXiv 2003.00688; DomainBed's values).

    Args:
        penalty_weight: the weight after ``schedule_steps``.
        schedule_steps: the number of steps with ``initial_weight``.
        initial_weight: the weight before.

    Raises:
        UserError: a number is negative or not finite.
    """

    def __init__(
        self, penalty_weight: float = 10.0, schedule_steps: int = 500, initial_weight: float = 1.0
    ) -> None:
        super().__init__(VRex(penalty_weight), penalty_weight, schedule_steps, initial_weight)
