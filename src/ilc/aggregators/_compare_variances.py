"""Fishr's penalty: how much the variances of the last layer's gradients differ between environments."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc._precision import widened
from ilc.aggregators._joint import EnvironmentsInStep, JointAggregator


class CompareVariances(JointAggregator):
    """The mean risk, plus a penalty on the distance of the environments' variances from their mean.

    The variances are moving averages. The caller fills ``variances`` in every step with one ``[P]`` per
    environment, in order and with its graph.
    """

    follows_scale = False

    def __init__(self, penalty_weight: float, memory: float) -> None:
        self.penalty_weight, self.memory = penalty_weight, memory
        self.average: Tensor | None = None
        self.variances: list[Tensor] = []

    def loss(self, environments: EnvironmentsInStep) -> tuple[Tensor, Tensor]:
        """Return loss and penalties. The mean over environments is held fixed: its derivative cancels."""
        # Only the last entries count, because the trials of a first step may have added others before.
        noted = self.variances[len(self.variances) - len(environments.losses) :]
        own = torch.stack(noted) if noted else environments.losses.new_zeros(0, 0)
        self.variances = []
        of_all = environments.gather(own)
        before = torch.zeros_like(of_all) if self.average is None else self.average.to(of_all)
        self.average = self.memory * before + (1 - self.memory) * of_all
        # Divided by 1 - memory, so that the newest variance has weight 1 for every memory.
        newest = own + environments.local_part(before) * self.memory / (1 - self.memory)
        distances = (newest - self.average.mean(0) / (1 - self.memory)).square().mean(1)
        loss = environments.losses.sum() + self.penalty_weight * distances.sum()
        return loss / environments.n_environments, distances.detach()

    def state_dict(self) -> dict[str, Tensor]:
        """The moving average, if there is one."""
        return {} if self.average is None else {"average": self.average}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.average = state.get("average")


def variance(slopes: Tensor, inputs: Tensor) -> Tensor:
    """The variances over the examples of ``slopes_i inputs_i^T`` ``[C, H]`` and of ``slopes_i``, flat."""
    slopes, inputs = widened(slopes), widened(inputs)
    ones = torch.cat([inputs, inputs.new_ones(len(inputs), 1)], 1)
    squares = slopes.square().T @ ones.square() / len(ones)
    spread = squares - (slopes.T @ ones / len(ones)).square()
    return torch.cat([spread[:, :-1].flatten(), spread[:, -1]])
