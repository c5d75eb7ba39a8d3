"""Batches of a single environment each, for masks that compare environments over time."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ilc.data.environments import Environments
from ilc.errors import UserError


class OneEnvironmentBatches:
    """Iterates over the environments in a fresh random order, a random batch ``[1, B, ...]`` of each.

    An epoch has E steps: "in each iteration we sample a batch of data from a randomly chosen level
    out of the 64 available (and cycle through them all once per epoch)" (paper, section 3.3). The
    examples of a batch are drawn without replacement. The order comes from one CPU generator, so
    that it is the same on every device; its state is the sampler's state.

    Args:
        environments: the data; a batch is moved to ``device`` when it is drawn.
        batch_size: B; None for all examples of the environment.
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
                "dataset.batch_size (examples per step, all of one environment) must lie between 1 and "
                f"examples_per_environment = {n}, got {batch_size!r}"
            )
        self._data = environments
        self._generator = generator
        self._device = environments.inputs.device if device is None else device

    def __len__(self) -> int:
        """Steps per epoch: E."""
        return self._data.n_environments

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        data = self._data
        for e in torch.randperm(data.n_environments, generator=self._generator).tolist():
            order = torch.randperm(data.examples_per_environment, generator=self._generator)
            rows = order[: self._batch_size].to(data.inputs.device)
            inputs, targets = data.inputs[e][rows], data.targets[e][rows]
            yield inputs[None].to(self._device), targets[None].to(self._device)

    def state_dict(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue with a saved order."""
        self._generator.set_state(state["generator"])
