"""An order of examples in which every batch has all environments."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.data import Sampler

from ilc._numbers import check_whole_number
from ilc.errors import UserError


class EnvironmentSampler(Sampler[int]):
    """Draw ``examples`` examples of the first environment, then of the second, and so on, then begin again.

    With ``DataLoader(data, batch_size=E * examples, sampler=...)`` a batch is ``[E * examples, ...]``, and
    ``batch.unflatten(0, (E, examples))`` has the environments. An epoch goes once through the largest
    environment. A smaller environment begins again in a new order, and so does the largest at the end of the
    epoch, so that all batches are whole. No example is left out.

    Attributes:
        environments: the label of each environment, in the order in which they first appear. This is their
            order in every batch.

    Args:
        labels: the environment of each example: text, numbers, or a tensor ``[N]``.
        examples: how many examples of each environment a batch has.
        seed: the seed of the order, a whole number. Every epoch has another order. The same seed gives the
            same orders again.

    Raises:
        UserError: there is only one environment, a label is NaN or a list, the labels are no list or have
            more than one axis, ``examples`` is no whole number of at least 1, or the seed is no
            whole number.
    """

    def __init__(self, labels: Sequence[Hashable] | Tensor, examples: int, seed: int = 0) -> None:
        examples, seed = check_whole_number("examples", examples), check_whole_number("seed", seed)
        if examples < 1:
            raise UserError(
                f"a batch needs examples of each environment, got examples={examples}: give 1 or more"
            )
        axes = getattr(labels, "ndim", 1)
        if axes != 1:
            raise UserError(
                f"the labels must have one axis [N], got {axes}: give one label per example, as by flatten()"
            )
        if isinstance(labels, (str, bytes)) or not hasattr(labels, "__getitem__"):
            raise UserError(
                f"the labels must be a list or a tensor [N], got {type(labels).__name__}: give one label per "
                "example"
            )
        members: dict[Hashable, list[int]] = {}
        for i, given in enumerate(labels.tolist() if isinstance(labels, Tensor) else labels):
            label = given.item() if isinstance(given, Tensor) else given
            try:
                hash(label)
            except TypeError as error:
                raise UserError(
                    f"the label of example {i} is a {type(label).__name__}, which cannot tell environments "
                    "apart: give a text or a number"
                ) from error
            if _is_missing(label):
                raise UserError(
                    f"the label of example {i} is missing ({label}), so its environment is unknown: "
                    "leave the example out, or give it a label"
                )
            members.setdefault(label, []).append(i)
        if len(members) < 2:
            raise UserError(
                f"the labels name {len(members)} environment, but signs can only agree or disagree between "
                "environments: give labels that name at least two"
            )
        self.environments = list(members)
        self._members = [torch.tensor(indices) for indices in members.values()]
        self._examples, self._seed, self._epoch = examples, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next, as after a continued training."""
        self._epoch = epoch

    def __len__(self) -> int:
        largest = max(map(len, self._members))
        batches = -(-largest // self._examples)
        return batches * self._examples * len(self._members)

    def __iter__(self) -> Iterator[int]:
        random = torch.Generator().manual_seed(self._seed * 1_000_003 + self._epoch)
        self._epoch += 1
        each = len(self) // len(self._members)
        columns = []
        for indices in self._members:
            rounds = -(-each // len(indices))
            orders = [indices[torch.randperm(len(indices), generator=random)] for _ in range(rounds)]
            columns.append(torch.cat(orders)[:each].view(-1, self._examples))
        yield from torch.stack(columns, dim=1).flatten().tolist()


def _is_missing(label: Hashable) -> bool:
    """Whether the label is None, NaN or another value that tables have where a cell is empty."""
    try:
        # Each NaN would be an environment of its own, since it differs from itself.
        return label is None or bool(label != label)  # noqa: PLR0124
    except TypeError:  # pandas' NA, whose comparisons are neither true nor false.
        return True
