"""Batches in which every example is an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lab.data.batches import Batches
from lab.data.environments import Environments


class ExampleBatches(Batches):
    """Batches ``[B, 1, ...]`` drawn from all training examples, whatever their own environments are.

    Each batch is read by one indexing operation on the data. A smaller batch at the end of an epoch is
    skipped, because a few examples agree by chance more easily than many.
    """

    counts = "examples per step, each an environment of its own"
    limit = "the number of examples"

    def _available(self, environments: Environments) -> int:
        return environments.n_environments * environments.examples_per_environment

    def __len__(self) -> int:
        """Return the number of steps per epoch."""
        return self._available(self._data) // self._batch_size

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        examples = self._data.pooled()
        order = torch.randperm(len(examples.targets), generator=self._generator).to(examples.inputs.device)
        for chosen in torch.split(order[: len(self) * self._batch_size], self._batch_size):
            inputs, targets = self._ready(examples.inputs[chosen], examples.targets[chosen])
            yield inputs.unsqueeze(1), targets.unsqueeze(1)
