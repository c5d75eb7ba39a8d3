"""What Fishr compares: how the gradient of the last layer varies over the examples of each environment."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc._precision import widened
from ilc.aggregators._joint import JointAggregator, Together


class CompareVariances(JointAggregator):
    """``mean R_e`` and how far moving averages of variances are from their mean over environments.

    ``variances`` is filled anew for every step, one ``[P]`` with its graph for each environment in turn.
    """

    def __init__(self, penalty_weight: float, memory: float) -> None:
        self.penalty_weight, self.memory = penalty_weight, memory
        self.average: Tensor | None = None
        self.variances: list[Tensor] = []

    def loss(self, together: Together) -> tuple[Tensor, Tensor]:
        """Their mean over environments is held fixed: what it adds to the derivative cancels."""
        # The last ones: what the first step tries out may have noted others before.
        noted = self.variances[len(self.variances) - len(together.losses) :]
        own = torch.stack(noted) if noted else together.losses.new_zeros(0, 0)
        self.variances = []
        of_all = together.everywhere(own)
        before = torch.zeros_like(of_all) if self.average is None else self.average.to(of_all)
        self.average = self.memory * before + (1 - self.memory) * of_all
        # Over 1 - memory, so that the newest variance weighs 1, whatever the memory.
        newest = own + together.own(before) * self.memory / (1 - self.memory)
        distances = (newest - self.average.mean(0) / (1 - self.memory)).square().mean(1)
        loss = together.losses.sum() + self.penalty_weight * distances.sum()
        return loss / together.n_environments, distances.detach()

    def state_dict(self) -> dict[str, Tensor]:
        """The moving average, once there is one."""
        return {} if self.average is None else {"average": self.average}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from there."""
        self.average = state.get("average")


def variance(slopes: Tensor, inputs: Tensor) -> Tensor:
    """Of ``slopes_i inputs_i^T`` and of ``slopes_i`` over the examples: weight ``[C, H]``, bias, flat."""
    slopes, inputs = widened(slopes), widened(inputs)
    ones = torch.cat([inputs, inputs.new_ones(len(inputs), 1)], 1)
    squares = slopes.square().T @ ones.square() / len(ones)
    spread = squares - (slopes.T @ ones / len(ones)).square()
    return torch.cat([spread[:, :-1].flatten(), spread[:, -1]])
