"""Batches of examples from any environments, for plain training without environments."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from lab.data.example_batches import ExampleBatches


class AnyEnvironmentBatches(ExampleBatches):
    """Batches ``[1, B, ...]`` drawn from all training examples, whatever their environments are.

    So B may be smaller than E.
    """

    counts = "examples per step, of any environments"

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of one epoch."""
        for inputs, targets in super().__iter__():
            yield inputs.transpose(0, 1), targets.transpose(0, 1)
