"""A step whose batch all processes hold, and of which each takes its part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ilc import distributed
from ilc._processes import Processes
from ilc._seeding import seed_for
from ilc.aggregators import Aggregator
from ilc.gradients import BackwardResult, backward
from ilc.objectives import ObjectiveFunction


def backward_in_parts(
    processes: Processes,
    model: nn.Module,
    objective: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    aggregator: Aggregator,
    gradients: str,
) -> BackwardResult:
    """``ilc.backward`` of a batch ``[E, N, ...]`` that is the same in all processes, as is the result.

    Each takes some of the environments. Where there is one environment and nobody asks which examples
    belong to it (the temporal mask's steps), each takes some of its examples.

    Raises:
        UserError: as ``ilc.distributed.backward``.
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
    """Dropout draws differently in each process, and leaves the same state in all of them.

    So one checkpoint is right for every process, whatever their number.
    """
    seed = int(torch.randint(2**62, ()))
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed_for(seed, f"process {processes.rank}"))
        yield
