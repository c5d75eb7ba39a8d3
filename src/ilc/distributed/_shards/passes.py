"""The environments of all processes through a sharded model: one of each process at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc._processes import Processes
from ilc.aggregators import Aggregator
from ilc.distributed._buffers import MeanOfBuffers as MeanOverProcesses
from ilc.distributed._exchange import among_all
from ilc.distributed._same_step import counts_of_same_step
from ilc.distributed._shards.checks import check_sharded
from ilc.distributed._shards.collected import CollectedShards
from ilc.distributed._shards.state import no_state_between_passes
from ilc.errors import UserError
from ilc.gradients import EnvironmentGradients
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._environment import checked_objective, device_of
from ilc.gradients._hidden_examples import check_masks
from ilc.gradients._named_errors import named
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._passes.dense_embeddings import dense_embeddings
from ilc.gradients._passes.graph import check_what_the_loss_holds
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.gradients._passes.restored_buffers import buffers_restored_after_errors
from ilc.gradients._refusals import check_fsdp1
from ilc.gradients._trials.findings import remember_buffers
from ilc.gradients._ways.of_losses import Loss, check_losses_given
from ilc.objectives import Objective

PASS_PER_ENVIRONMENT = ("vectorized", "sequential")


def sharded_gradients(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str,
    processes: Processes,
) -> EnvironmentGradients:
    """Risks ``[E]`` of the environments of all processes, and the statistics of this process's parts.

    Every environment has one forward and one backward pass. In a pass FSDP2 adds one environment of each
    process. A process with fewer environments repeats its last one, which then counts for nothing.

    Raises:
        UserError: as for ``ilc.distributed.backward``.
    """
    check_fsdp1(model)
    check_sharded(model, aggregator, processes)
    _check_way(gradients)
    losses = _losses(model, loss_fn, inputs, targets, aggregator, gradients)
    counts = counts_of_same_step(model, aggregator, len(losses), processes)
    if not all(counts):
        raise UserError(
            f"process {counts.index(0)} has no environment, and a sharded model needs all processes in every "
            "pass: give each process at least one"
        )
    over_processes = MeanOverProcesses(model)
    reports = []
    with (
        buffers_restored_after_errors(model),
        dense_embeddings(model),
        CollectedShards(model, aggregator) as collected,
        no_state_between_passes(model, loss_fn, losses, processes),
        MeanOfBuffers(model) as buffers,
    ):
        for e in range(max(counts)):
            buffers.restart()
            objective = checked_objective(losses[min(e, len(losses) - 1)]())
            if e == 0:
                check_what_the_loss_holds(objective.loss, model, loss_fn)
            collected.backward(objective.loss, counts=e < len(losses))
            if e < len(losses):
                buffers.collect()
                reports.append(
                    torch.stack([widened(x.detach()) for x in (objective.risk, objective.penalty)])
                )
    every = among_all(torch.stack(reports, 1), counts, processes.rank)
    changes = over_processes.changes(counts, processes.rank)
    processes.sum_(every, *changes)
    risks, penalties = every.unbind()
    with torch.no_grad():
        over_processes.apply(changes)
    remember_buffers(model)
    for statistics in collected.statistics.values():
        statistics.n_environments = sum(counts)
    return EnvironmentGradients(risks, collected.statistics, penalties)


def _check_way(gradients: str) -> None:
    if gradients not in PASS_PER_ENVIRONMENT:
        raise UserError(
            f"gradients={gradients!r} needs the whole model in every process, and fully_shard has divided "
            "it: take gradients='sequential', with a batch [E, 1, ...] if every example is an environment"
        )


def _losses(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch,
    targets: Batch,
    aggregator: Aggregator,
    gradients: str,
) -> list[Callable[[], Tensor | Objective]]:
    """One function for each environment of this process, which makes its forward pass."""
    if not callable(loss_fn):
        check_losses_given(loss_fn, inputs, targets, aggregator, gradients)
        if not all(map(callable, loss_fn)):
            raise UserError(
                "a sharded model makes one pass after another, and a loss in the list has made its pass "
                "already: give a function for every environment, as in lambda: loss(model(x), y)"
            )
        return [loss for loss in loss_fn if callable(loss)]
    if isinstance(inputs, Tensor | list) and not len(inputs):
        return []
    x, y = as_batches(inputs, targets, device_of(model))
    check_masks(x)

    def loss_of(e: int, objective: Any = loss_fn) -> Any:
        try:
            return value_of(objective, outputs_of(model, x[e]), y[e])
        except Exception as error:
            own = named(error, model, objective, x, y, together=False)
            if own is None:
                raise
            raise own from error

    return [partial(loss_of, e) for e in range(len(x))]
