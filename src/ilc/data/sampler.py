"""Batches that hold the same number of examples from every environment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ilc.data.environments import Environments
from ilc.errors import UserError


class EnvironmentBatches:
    """Iterates once over the training data: batches ``[E, B, ...]`` in a fresh random order.

    The last batch of an epoch is smaller when B does not divide N. The order comes from one CPU
    generator, so that it is the same on every device; its state is the sampler's state.

    Args:
        environments: the data.
        batch_size: B, examples per environment and step; None for all of them (one step per epoch).
        generator: source of the order.
        device: where the batches are wanted; None for where the data is.

    Raises:
        UserError: a batch size below 1 or above N.
    """

    def __init__(
        self,
        environments: Environments,
        batch_size: int | None,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> None:
        n = environments.examples_per_environment
        self._batch_size = n if batch_size is None else batch_size
        if not isinstance(self._batch_size, int) or not 1 <= self._batch_size <= n:
            raise UserError(
                "dataset.batch_size (examples per environment and step) must lie between 1 and "
                f"examples_per_environment = {n}, got {batch_size!r}"
            )
        self._data = environments
        self._generator = generator
        self._device = environments.inputs.device if device is None else device
        self._rows = torch.arange(environments.n_environments, device=environments.inputs.device)[:, None]

    def __len__(self) -> int:
        """Steps per epoch."""
        return math.ceil(self._data.examples_per_environment / self._batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        data = self._data
        if self._batch_size == data.examples_per_environment:
            yield data.inputs.to(self._device), data.targets.to(self._device)
            return
        shape = (data.n_environments, data.examples_per_environment)
        order = torch.rand(shape, generator=self._generator).argsort(dim=1).to(data.inputs.device)
        for columns in torch.split(order, self._batch_size, dim=1):
            inputs, targets = data.inputs[self._rows, columns], data.targets[self._rows, columns]
            yield inputs.to(self._device), targets.to(self._device)

    def state_dict(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue with a saved order."""
        self._generator.set_state(state["generator"])
