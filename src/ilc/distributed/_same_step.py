"""Whether all processes make the same step: the same trained parameters, and the same aggregator."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn

from ilc._processes import Processes
from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients._environment import trainable_parameters


def counts_of_same_step(
    model: nn.Module, aggregator: Aggregator, here: int, processes: Processes
) -> list[int]:
    """Exchange the number of environments of each process, and compare what the processes are about to do.

    Args:
        model: the model of this process.
        aggregator: the aggregator of this process.
        here: the number of environments of this process.
        processes: the processes that share the step.

    Returns:
        The numbers of all processes, in the order of the ranks.

    Raises:
        UserError: the processes train other parameters or have other aggregators, or a process has died.
    """
    counts, *others = zip(*processes.gathered([here, *_digests(model, aggregator)]), strict=True)
    _check_equal(others)
    return list(counts)


def check_same_hook(model: nn.Module, aggregator: Aggregator, group: dist.ProcessGroup | None = None) -> None:
    """Compare what the processes of a group are about to register; None is the default group.

    Raises:
        UserError: the processes train other parameters or have other aggregators.
    """
    found: list[list[int]] = [[]] * dist.get_world_size(group)
    dist.all_gather_object(found, _digests(model, aggregator), group=group)
    _check_equal(list(zip(*found, strict=True)))


def _digests(model: nn.Module, aggregator: Aggregator) -> list[int]:
    """Checksums of the names and shapes of the trained parameters, and of the aggregator and its state."""
    parameters = [(name, tuple(p.shape), p.dtype) for name, p in trainable_parameters(model).items()]
    own = vars(aggregator)
    options = [(key, own.get(key)) for key in inspect.signature(type(aggregator)).parameters]
    method = repr((type(aggregator).__qualname__, [pair for pair in options if _is_plain(pair[1])]))
    # Of the state, whole numbers alone: a sum of floats may end in other digits on another processor.
    whole = [value for value in aggregator.state_dict().values() if not value.is_floating_point()]
    state = b"".join(bytes(value.cpu().flatten().view(torch.uint8).tolist()) for value in whole)
    return [zlib.crc32(repr(parameters).encode()), zlib.crc32(method.encode() + state)]


def _check_equal(digests: Sequence[Sequence[int]]) -> None:
    for digest, what in zip(digests, ("trainable parameters", "aggregators"), strict=True):
        if len(set(digest)) > 1:
            ranks = [rank for rank, one in enumerate(digest) if one != digest[0]]
            raise UserError(
                f"the {what} of rank {ranks[0]} differ from those of rank 0: give every process the same "
                "model, freeze the same parameters in it, and give every process the same aggregator with "
                "the same seed"
            )


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float | str | None)
