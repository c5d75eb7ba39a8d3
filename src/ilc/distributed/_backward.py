"""``ilc.backward`` in several processes, each of which has some of the environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc import gradients as ways
from ilc._processes import current
from ilc.aggregators import Aggregator, GradientStatistics
from ilc.aggregators._joint import JointAggregator
from ilc.distributed._buffers import MeanOfBuffers
from ilc.distributed._exchange import among_all, summed
from ilc.distributed._same_step import counts_of_same_step
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, BackwardResult, EnvironmentGradients
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._environment import device_of, trainable_parameters
from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._refusals import checked_aggregator
from ilc.gradients._sharded import is_sharded
from ilc.gradients._trials.findings import remember_buffers
from ilc.gradients._unused_gradients import note_filled, warn_of_unused
from ilc.gradients._ways.joint_loss import joint_loss_gradients
from ilc.gradients._ways.of_losses import Loss


def backward(
    model: nn.Module,
    loss_fn: Loss,
    inputs: Batch = None,
    targets: Batch = None,
    aggregator: Aggregator | None = None,
    gradients: str = "vectorized",
) -> BackwardResult:
    """Fill ``.grad`` in every process as ``ilc.backward`` would with the environments of all processes.

    Every process of torch.distributed's default group calls it, with the same model and aggregator. In a
    single process it is ``ilc.backward``. If the environments' gradients are equal, so are the masks, because
    counts of signs are whole numbers. Sums of gradients differ only by the rounding that their order causes.

    BatchNorm in training mode normalises every environment by its own batch. The running statistics end as
    the mean over all E environments. Dropout uses the random numbers of each process, so seed the processes
    differently.

    Args:
        model: with the same parameters and buffers in every process. ``fully_shard`` (FSDP2) may have
            divided its parameters over all processes. It must not be wrapped in DistributedDataParallel,
            which averages gradients before the environments can vote. For that see ``register_ddp_hook``.
        loss_fn: as for ``ilc.backward``.
        inputs: the E_r environments of this process, as for ``ilc.backward``. Their number may differ between
            processes. It may be zero: an empty tensor or list. A sharded model needs at least one.
        targets: as for ``ilc.backward``.
        aggregator: how the gradients of all environments become one update.
        gradients: the way to obtain gradients. ``pooled`` weighs processes by their number of examples. A
            sharded model takes one environment after another, in ``vectorized`` too; other ways are refused.

    Returns:
        Risks and penalties ``[E]`` of all environments in the order of the ranks, the same in every process.

    Raises:
        UserError: as for ``ilc.backward``; the processes train other parameters or have other aggregators; a
            process has died; or BatchNorm in training mode would need the examples of all processes at once.
    """
    aggregator = checked_aggregator(aggregator, inputs, targets)
    processes = current()
    if is_sharded(model):
        # A late import, because that of DTensor takes half a second.
        from ilc.distributed._shards.passes import sharded_gradients
        from ilc.distributed._shards.update import combined_shards

        found = sharded_gradients(model, loss_fn, inputs, targets, aggregator, gradients, processes)
        warn_of_unused(model, inputs)
        result = combined_shards(model, found, aggregator, processes)
        note_filled(model, inputs)
        return result
    if processes.size == 1:
        return ways.backward(model, loss_fn, inputs, targets, aggregator, gradients)
    given = inputs
    if gradients in (*PER_EXAMPLE, "pooled") and mixes_examples(model):
        raise UserError(
            f"gradients={gradients} with BatchNorm needs the whole batch, but each of the {processes.size} "
            "processes holds only a part of it: use a model with GroupNorm (set model.norm=group if the "
            "model has this option), or start one process"
        )
    pooled = gradients == "pooled"
    if callable(loss_fn) and not _is_empty(inputs, pooled):
        inputs, targets = as_batches(inputs, targets, device_of(model))
    mine = _size(inputs if callable(loss_fn) else loss_fn, pooled)
    counts = counts_of_same_step(model, aggregator, mine, processes)
    if not sum(counts):
        raise UserError("no process has an environment: give at least one of them a batch [E, N, ...]")
    buffers = MeanOfBuffers(model)
    if mine:
        local = ways.environment_gradients(
            model, loss_fn, inputs, targets, aggregator, gradients, counts, processes
        )
    elif isinstance(aggregator, JointAggregator) and callable(loss_fn):
        # It adds nothing, but takes part in the exchange.
        local = joint_loss_gradients(model, loss_fn, [], [], aggregator, "sequential", counts, processes)
    else:
        local = _of_no_environments(model, aggregator)
    reports = _reports(local, counts, processes.rank, pooled)
    if pooled:
        for each in local.statistics.values():
            each.total = each.total * mine
    others = [reports, *buffers.changes(counts, processes.rank)]
    statistics, (reports, *changes) = summed(local.statistics, sum(counts), aggregator, others, processes)
    buffers.apply(changes)
    remember_buffers(model)
    risks, penalties = (reports / sum(counts) if pooled else reports).unbind()
    warn_of_unused(model, given)
    result = ways.combined(model, EnvironmentGradients(risks, statistics, penalties), aggregator)
    note_filled(model, given)
    return result


def _is_empty(inputs: Batch, pooled: bool) -> bool:
    return isinstance(inputs, Tensor | list) and not _size(inputs, pooled)


def _size(batch: Batch, pooled: bool) -> int:
    """The number of environments; pooled, the number of examples."""
    return len(batch) if not pooled or isinstance(batch, list) else int(batch.shape[:2].numel())


def mixes_examples(model: nn.Module) -> bool:
    """Whether a BatchNorm of the model normalises by the statistics of the batch."""
    return any(normalises_by_batch(layer) for layer in model.modules())


def _of_no_environments(model: nn.Module, aggregator: Aggregator) -> EnvironmentGradients:
    """Empty statistics, for a process without environments."""
    parameters = trainable_parameters(model)
    statistics = {
        name: GradientStatistics.zeros(p, aggregator.sums_on_request) for name, p in parameters.items()
    }
    nothing = next(iter(parameters.values())).new_zeros(0)
    return EnvironmentGradients(nothing.detach(), statistics, nothing.detach())


def _reports(local: EnvironmentGradients, counts: list[int], rank: int, pooled: bool) -> Tensor:
    """Risks and penalties ``[2, E]``, zero for other processes' environments; pooled ``[2, 1]``, weighted."""
    like = next(iter(local.statistics.values())).total
    dtype = torch.promote_types(like.dtype, torch.float32)
    penalties = torch.zeros_like(local.risks) if local.penalties is None else local.penalties
    own = torch.stack([local.risks, penalties]).to(dtype)
    if pooled:
        return own.sum(1, keepdim=True) * counts[rank]
    return among_all(own, counts, rank)
