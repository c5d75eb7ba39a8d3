"""The base class of all samplers: a new random order in every epoch, from one generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.environments import Environments


class Batches:
    """An iterable over batches of the training data. One iteration over it is one epoch.

    It yields pairs of inputs and targets, whose first axis is E.

    The order comes from one generator on the CPU, so it is the same on every device.

    Args:
        environments: the data.
        batch_size: B; the subclass says what it counts. None takes the largest possible size.
        generator: the random number generator that decides the order.
        device: the device of the batches; None for the device of the data.

    Raises:
        UserError: the batch size is below 1 or larger than possible.
    """

    counts: ClassVar[str]
    """What the batch size counts, for messages."""
    limit: ClassVar[str] = "examples_per_environment"
    """What the batch size cannot exceed, for messages."""
    remedy_for_one: ClassVar[str] = ""
    """What to do if the largest possible batch size is 1, for messages."""

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
                f"got {batch_size!r}{self.remedy_for_one if n == 1 else ''}"
            )
        self._data = environments
        self._generator = generator
        self._device = environments.inputs.device if device is None else device

    def _available(self, environments: Environments) -> int:
        """Return the largest possible batch size."""
        return environments.examples_per_environment

    def __len__(self) -> int:
        """Return the number of steps per epoch."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        raise NotImplementedError

    def _ready(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the batch on the right device, with inputs that a model can take."""
        return self._data.prepared(inputs.to(self._device)), targets.to(self._device)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state of the generator."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a saved state of the generator."""
        self._generator.set_state(state["generator"])
