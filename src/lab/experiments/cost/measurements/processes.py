"""Time and bytes of a step in one process, and in several processes that share its environments.

The processes talk through gloo, on the CPU, and have one thread each. The network is a perceptron of about a
million parameters. The data are 16 environments of 64 examples in all. A step consists of forward, backward,
exchange and plain SGD. For each number of processes, all ways step in turn.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.distributed import backward, joined
from ilc.errors import UserError
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import median_milliseconds
from lab.models import MLP
from lab.runs.pool.job import Job
from lab.runs.pool.jobs import run_jobs

PROCESSES = (1, 2)
N_ENVIRONMENTS, N_EXAMPLES, N_FEATURES, N_CLASSES = 16, 64, 256, 10
PLAIN = "plain (DDP)"
AGGREGATORS: dict[str, Aggregator] = {
    "mean": Mean(),
    "AND-mask": AndMask(0.5),
    "geometric mean": GeometricMean(0.5),
}


def parts(steps: int | None = None, device: str | None = None) -> Parts:
    """Return the parts of ``cost/processes.csv``, which holds the medians of rank 0.

    The machine should have a core for every process.

    Args:
        steps: the number of timed steps per way; None means 40.
        device: ``cpu``, or None, which means the same.

    Raises:
        UserError: a GPU was asked for.
    """
    if device not in (None, "cpu"):
        raise UserError(
            f"the benchmark of processes uses gloo on the CPU, got device={device}: choose device=cpu"
        )
    steps = 40 if steps is None else steps
    return {f"processes_{size}": partial(_measure, size, steps) for size in PROCESSES}


def _measure(size: int, steps: int) -> Tables:
    # The store outlives the processes, as torchrun's store does.
    patience = timedelta(minutes=5)
    store = dist.TCPStore("127.0.0.1", 0, None, True, patience, False)  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        jobs: list[Job[list[dict[str, Any]]]] = [
            Job(str(rank), partial(steps_of, rank, size, store.port, steps), Path(folder) / f"{rank}.log")
            for rank in range(size)
        ]
        rows: list[dict[str, Any]] = []
        for name, result in run_jobs(jobs, size):
            if isinstance(result, UserError):
                raise result
            rows += result if name == "0" else []
    return {"cost/processes.csv": pd.DataFrame(rows)}


def steps_of(rank: int, size: int, port: int, steps: int) -> list[dict[str, Any]]:
    """Measure all ways in one of the processes, and return a row per way."""
    os.environ.update(
        {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_PORT": str(port)},
        MASTER_ADDR="127.0.0.1",
        TORCHELASTIC_USE_AGENT_STORE="True",
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = MLP(N_FEATURES, N_CLASSES, hidden_units=620)
    inputs = torch.randn(N_ENVIRONMENTS, N_EXAMPLES, N_FEATURES)
    targets = torch.randint(0, N_CLASSES, (N_ENVIRONMENTS, N_EXAMPLES))
    with joined() as processes:
        mine = processes.part(N_ENVIRONMENTS)
        ways = {PLAIN: plain_step(model, inputs[mine], targets[mine], size)}
        for name, aggregator in AGGREGATORS.items():
            ways[name] = step(model, inputs[mine], targets[mine], aggregator)
        milliseconds = median_milliseconds(ways, steps)
        sent = {name: bytes_given(way) for name, way in ways.items()}
    n_parameters = sum(p.numel() for p in model.parameters())
    if size > 1:
        sent[PLAIN] = 4 * n_parameters  # DDP's own reducer sends the gradients once.
    return [
        {
            "processes": size,
            "way": name,
            "milliseconds": round(milliseconds[name], 2),
            "times_plain": round(milliseconds[name] / milliseconds[PLAIN], 3),
            "bytes": sent[name],
            "times_ddp": round(sent[name] / (4 * n_parameters), 4),
            "parameters": n_parameters,
            "environments": N_ENVIRONMENTS,
            "examples": N_EXAMPLES,
        }
        for name in ways
    ]


def plain_step(model: nn.Module, inputs: Tensor, targets: Tensor, size: int) -> Callable[[], None]:
    """Return a step of plain training on all examples. Several processes use DistributedDataParallel."""
    own = copy.deepcopy(model)
    optimizer = torch.optim.SGD(own.parameters(), 1e-3)
    shared = DistributedDataParallel(own) if size > 1 else own

    def go() -> None:
        optimizer.zero_grad()
        F.cross_entropy(shared(inputs.flatten(0, 1)), targets.flatten()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return go


def step(model: nn.Module, inputs: Tensor, targets: Tensor, aggregator: Aggregator) -> Callable[[], None]:
    """Return a step with one of our aggregators, on the environments of this process."""
    own = copy.deepcopy(model)
    optimizer = torch.optim.SGD(own.parameters(), 1e-3)

    def go() -> None:
        backward(own, F.cross_entropy, inputs, targets, aggregator)
        optimizer.step()

    return go


def bytes_given(way: Callable[[], None]) -> int:
    """Return how many bytes one step of a way gives to the sum over processes."""
    with _counted() as counts:
        way()
    return sum(counts)


@contextmanager
def _counted() -> Iterator[list[int]]:
    counts: list[int] = []
    original = dist.all_reduce

    def counting(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
        counts.append(tensor.numel() * tensor.element_size())
        return original(tensor, *arguments, **options)

    dist.all_reduce = counting
    try:
        yield counts
    finally:
        dist.all_reduce = original
