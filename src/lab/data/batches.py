"""What all samplers are: a fresh random order from one generator, whose state is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.environments import Environments


class Batches:
    """Iterates once per epoch over training data, batches of inputs and targets with an axis E in front.

    The order comes from one CPU generator, so that it is the same on every device.

    Args:
        environments: the data.
        batch_size: B; what it counts, a subclass says. None for as many as there are.
        generator: source of the order.
        device: where the batches are wanted; None for where the data is.

    Raises:
        UserError: a batch size below 1 or above what there is.
    """

    counts: ClassVar[str]
    """What the batch size counts, for messages."""
    limit: ClassVar[str] = "examples_per_environment"
    """What it cannot exceed, for messages."""

    def __init__(
        self,
        environments: Environments,
        batch_size: int | None,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> None:
        n = self._available(environments)
        self._batch_size = n if batch_size is None else batch_size
        if not isinstance(self._batch_size, int) or not 1 <= self._batch_size <= n:
            raise UserError(
                f"dataset.batch_size ({self.counts}) must lie between 1 and {self.limit} = {n}, "
                f"got {batch_size!r}"
            )
        self._data = environments
        self._generator = generator
        self._device = environments.inputs.device if device is None else device

    def _available(self, environments: Environments) -> int:
        """The largest batch size."""
        return environments.examples_per_environment

    def __len__(self) -> int:
        """Steps per epoch."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        raise NotImplementedError

    def _ready(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """A batch where it is wanted, its inputs as a model takes them."""
        return self._data.prepared(inputs.to(self._device)), targets.to(self._device)

    def state_dict(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue with a saved order."""
        self._generator.set_state(state["generator"])
