"""Batches that are made for each environment by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ilc.errors import UserError


class Environments(list[Any]):
    """A batch for each environment, as the collator made it."""


class EachEnvironment:
    """Call a data collator once for each environment of a micro-batch.

    Nobody can divide a finished batch in general: collators sort rows, join them, or return lists and objects
    of any kind. The list of examples can be divided, because the sampler has chosen its order.

    Attributes:
        examples: how many examples in turn are one environment's.
        environments: how many environments a micro-batch has. Both are known when the sampler is.

    Args:
        collate: what makes a batch of a list of examples.
    """

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate
        self.examples = self.environments = 0

    def __call__(self, items: Sequence[Any]) -> Environments:
        """Return a batch for each environment.

        Raises:
            UserError: there are more or fewer examples than the sampler asked for.
        """
        rows = self.examples * self.environments
        # A __getitems__ may leave out what it cannot read. The rest would move up, to other environments.
        if len(items) != rows:
            raise UserError(
                f"train_dataset gave {len(items)} examples where {rows} were asked for, so that it is not "
                "known which environments they belong to: let its __getitems__ return a list with an example "
                "for each number"
            )
        starts = range(0, rows, self.examples)
        return Environments(self.collate(items[start : start + self.examples]) for start in starts)
