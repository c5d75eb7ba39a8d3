"""Batches that hold the same number of examples from every environment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from lab.data.batches import Batches


class EnvironmentBatches(Batches):
    """Batches ``[E, B, ...]``: every step has B examples of every environment.

    If B does not divide N, the last batch of an epoch is smaller. If B is N, an epoch is one step.
    """

    counts = "examples per environment and step"
    remedy_for_one = (
        ": every environment of this dataset is a single example, so take gradients=per_example, "
        "per_example_share or per_example_loss, whose batch_size counts environments, or dataset.batch_size=1"
    )

    def __len__(self) -> int:
        """Return the number of steps per epoch."""
        return math.ceil(self._data.examples_per_environment / self._batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        data, there = self._data, self._data.inputs.device
        if self._batch_size == data.examples_per_environment:
            yield self._ready(data.inputs, data.targets)
            return
        shape = (data.n_environments, data.examples_per_environment)
        order = torch.rand(shape, generator=self._generator).argsort(dim=1).to(there)
        rows = torch.arange(data.n_environments, device=there)[:, None]
        for columns in torch.split(order, self._batch_size, dim=1):
            yield self._ready(data.inputs[rows, columns], data.targets[rows, columns])
