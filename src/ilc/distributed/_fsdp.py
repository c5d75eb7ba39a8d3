"""Masks inside FSDP2, for training loops with one environment per process."""

from __future__ import annotations

from torch import nn

from ilc._processes import current
from ilc.aggregators import Aggregator
from ilc.distributed._same_step import check_same_hook
from ilc.errors import UserError
from ilc.gradients._refusals import check_fsdp1
from ilc.gradients._sharded import is_sharded


def register_fsdp_hook(model: nn.Module, aggregator: Aggregator) -> None:
    """Let FSDP2 combine the gradients of the processes with an aggregator instead of averaging them.

    Every process trains on the batches of one environment, so E is the number of processes. The training loop
    does not change (``loss.backward()``). Sums of gradients and of signs are scattered, so that each process
    has the statistics of its own part of each parameter. As always in FSDP2, sending overlaps with the
    backward pass::

        fully_shard(model)
        register_fsdp_hook(model, AndMask(agreement_threshold=0.8))

    The result is exact: every process has one vote, from the gradient of its whole batch. This batch may come
    in several backward passes, all but the last after ``model.set_requires_gradient_sync(False)``. Several
    passes that send are refused, because the later ones would add to a gradient that is already masked. For
    several environments per process use ``ilc.distributed.backward``.

    Args:
        model: the whole model, after ``fully_shard`` of it and its parts.
        aggregator: any aggregator except a ``JointAggregator``.

    Raises:
        UserError: the model is not sharded by FSDP2 over all processes, the aggregator is a
            ``JointAggregator``, the model has SyncBatchNorm, which mixes the environments, or a parameter has
            a gradient from before, or the processes train other parameters or have other aggregators.
    """
    check_fsdp1(model)
    if not is_sharded(model):
        raise UserError(
            f"register_fsdp_hook needs a model after torch.distributed.fsdp.fully_shard, got "
            f"{type(model).__name__}: call fully_shard(model) before, or use ilc.distributed.backward"
        )
    if any(isinstance(layer, nn.SyncBatchNorm) for layer in model.modules()):
        raise UserError(
            "SyncBatchNorm normalises all environments together, so that no environment has a gradient of "
            "its own: use BatchNorm or GroupNorm instead"
        )
    from ilc.distributed._shards.checks import check_sharded
    from ilc.distributed._shards.hook import let_fsdp_combine

    check_sharded(model, aggregator, current())
    check_same_hook(model, aggregator)
    let_fsdp_combine(model, aggregator)
