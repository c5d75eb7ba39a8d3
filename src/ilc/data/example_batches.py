"""Batches in which every example is an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ilc.data.environments import Environments
from ilc.errors import UserError


class ExampleBatches:
    """Iterates once over all training examples: batches ``[B, 1, ...]`` in a fresh random order.

    The data stays where it is and a batch is one indexing operation. What is left at the end of an
    epoch and makes no whole batch is skipped, because few examples agree by chance. The order comes
    from one CPU generator, whose state is the sampler's state.

    Args:
        environments: the data; its own division into environments plays no part.
        batch_size: B, examples per step; None for all of them.
        generator: source of the order.
        device: where the batches are wanted; None for where the data is.

    Raises:
        UserError: a batch size below 1 or above the number of examples.
    """

    def __init__(
        self,
        environments: Environments,
        batch_size: int | None,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> None:
        self._examples = environments.pooled()
        n = len(self._examples.targets)
        self._batch_size = n if batch_size is None else batch_size
        if not isinstance(self._batch_size, int) or not 1 <= self._batch_size <= n:
            raise UserError(
                "with one environment per example dataset.batch_size counts examples per step: it must lie "
                f"between 1 and {n}, got {batch_size!r}"
            )
        self._generator = generator
        self._device = environments.inputs.device if device is None else device

    def __len__(self) -> int:
        """Steps per epoch."""
        return len(self._examples.targets) // self._batch_size

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        inputs, targets = self._examples.inputs, self._examples.targets
        order = torch.randperm(len(targets), generator=self._generator).to(inputs.device)
        for chosen in torch.split(order[: len(self) * self._batch_size], self._batch_size):
            yield inputs[chosen].unsqueeze(1).to(self._device), targets[chosen].unsqueeze(1).to(self._device)

    def state_dict(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue with a saved order."""
        self._generator.set_state(state["generator"])
