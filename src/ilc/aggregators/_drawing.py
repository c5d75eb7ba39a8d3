"""Aggregators that draw random numbers: alike in all processes, and again after a kill."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.aggregators._base import Aggregator


class DrawingAggregator(Aggregator):
    """Has random numbers of its own, drawn on the CPU, so that every device and every process has the same.

    Args:
        seed: of the random numbers; in a run it follows the run's seed.
    """

    def __init__(self, seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def uniform(self, like: Tensor) -> Tensor:
        """In [0, 1), one for each component."""
        return torch.rand(like.shape, generator=self._generator).to(like)

    def normal(self, like: Tensor) -> Tensor:
        """Of variance 1, one for each component."""
        return torch.randn(like.shape, generator=self._generator).to(like)

    def state_dict(self) -> dict[str, Tensor]:
        """Where the random numbers are."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from there."""
        self._generator.set_state(state["generator"].cpu())
