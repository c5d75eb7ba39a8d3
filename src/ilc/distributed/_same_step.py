"""Whether all processes make the same step: the same trained parameters, and the same aggregator."""

from __future__ import annotations

import zlib

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
    parameters = [(name, tuple(p.shape), p.dtype) for name, p in trainable_parameters(model).items()]
    options = {key: value for key, value in vars(aggregator).items() if isinstance(value, int | float | str)}
    method = (type(aggregator).__qualname__, sorted(options.items()))
    digests = [zlib.crc32(repr(what).encode()) for what in (parameters, method)]
    counts, *others = zip(*processes.gathered([here, *digests]), strict=True)
    for digest, what in zip(others, ("trainable parameters", "aggregators"), strict=True):
        if len(set(digest)) > 1:
            ranks = [rank for rank, one in enumerate(digest) if one != digest[0]]
            raise UserError(
                f"the {what} of rank {ranks[0]} are others than those of rank 0: give every process the same "
                "model, freeze the same parameters in it, and give every process the same aggregator"
            )
    return list(counts)
