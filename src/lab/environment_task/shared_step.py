"""A step that several processes share. All hold the same batch, and each computes a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ilc import distributed
from ilc.aggregators import Aggregator
from ilc.distributed import Processes
from ilc.gradients import BackwardResult, backward
from ilc.objectives import ObjectiveFunction
from lab.machine.seeding import seed_for


def backward_shared_by_processes(
    processes: Processes,
    model: nn.Module,
    objective: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    aggregator: Aggregator,
    gradients: str,
) -> BackwardResult:
    """Do what ``ilc.backward`` does for a batch ``[E, N, ...]``.

    Batch and result are the same in all processes.

    Each process takes some of the environments. If there is one environment only, and the aggregator does
    not need to know it (as in the steps of the temporal mask), each process takes some of the examples.

    Raises:
        UserError: as in ``ilc.distributed.backward``.
    """
    if processes.size == 1:
        return backward(model, objective, inputs, targets, aggregator, gradients)
    if len(inputs) == 1 and not aggregator.needs_environments and not distributed.mixes_examples(model):
        mine = processes.part(inputs.shape[1])
        inputs, targets, gradients = inputs[:, mine], targets[:, mine], "pooled"
    else:
        mine = processes.part(len(inputs))
        inputs, targets = inputs[mine], targets[mine]
    with _own_random_numbers(processes, inputs.device):
        return distributed.backward(model, objective, inputs, targets, aggregator, gradients)


@contextmanager
def _own_random_numbers(processes: Processes, device: torch.device) -> Iterator[None]:
    """Inside the block, dropout draws other numbers in each process. Afterwards all have the same state.

    So one checkpoint is right for every process, also if their number changes.
    """
    seed = int(torch.randint(2**62, ()))
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed_for(seed, f"process {processes.rank}"))
        yield
