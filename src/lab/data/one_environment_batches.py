"""Batches that each hold examples of a single environment, for masks that compare environments over time."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lab.data.batches import Batches


class OneEnvironmentBatches(Batches):
    """Batches ``[1, B, ...]``: one batch of each environment per epoch, in random order.

    "In each iteration we sample a batch of data from a randomly chosen level out of the 64
    available (and cycle through them all once per epoch)" (paper, section 3.3). The examples of a
    batch are drawn without replacement. Deviation: an epoch is one batch from each level.
    """

    counts = "examples per step, all of one environment"

    def __len__(self) -> int:
        """Return the number of steps per epoch, which is E."""
        return self._data.n_environments

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        data = self._data
        for e in torch.randperm(data.n_environments, generator=self._generator).tolist():
            order = torch.randperm(data.examples_per_environment, generator=self._generator)
            rows = order[: self._batch_size].to(data.inputs.device)
            inputs, targets = self._ready(data.inputs[e][rows], data.targets[e][rows])
            yield inputs[None], targets[None]
