"""Aggregators that draw random numbers: the same in all processes and after a resumed run."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc._numbers import check_whole_number
from ilc.aggregators._base import Aggregator


class DrawingAggregator(Aggregator):
    """An aggregator with its own random numbers, drawn on the CPU and equal on all devices and processes.

    Args:
        seed: the seed of the random numbers. In a run it depends on the run's seed.

    Raises:
        UserError: the seed is no whole number.
    """

    def __init__(self, seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(check_whole_number("seed", seed))

    def uniform(self, like: Tensor) -> Tensor:
        """A uniform random number in [0, 1) for each component."""
        return torch.rand(like.shape, generator=self._generator).to(like)

    def normal(self, like: Tensor) -> Tensor:
        """A normal random number of variance 1 for each component."""
        return torch.randn(like.shape, generator=self._generator).to(like)

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the random numbers."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self._generator.set_state(state["generator"].cpu())
