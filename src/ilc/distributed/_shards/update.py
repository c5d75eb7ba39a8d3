"""Updates of sharded parameters, computed where the parameters lie."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from ilc._processes import Processes
from ilc.aggregators import Aggregator, Combined, GradientStatistics
from ilc.aggregators._base import combine_checked
from ilc.distributed._shards.checks import shards
from ilc.gradients import BackwardResult, EnvironmentGradients
from ilc.gradients._backward import call_hooks
from ilc.gradients._one_environment import warn_of_one_environment


def update_of_shard(statistics: GradientStatistics, p: DTensor, aggregator: Aggregator) -> Combined:
    """The update of this process's part of a parameter, and the share of its components that were kept.

    An aggregator that looks at more than one component gets the whole parameter in every process, one
    parameter after another.
    """
    if aggregator.by_component:
        return combine_checked(aggregator, statistics)
    parts = {"total": statistics.total, "sign_sum": statistics.sign_sum, **statistics.requested}
    # Votes are a scalar NaN if the aggregator needs none.
    whole = {name: _as_shard(part, p).full_tensor() if part.ndim else part for name, part in parts.items()}
    update, share = combine_checked(aggregator, GradientStatistics(statistics.n_environments, **whole))
    own = distribute_tensor(update, p.device_mesh, p.placements, src_data_rank=None)
    return Combined(own.to_local(), share)


def combined_shards(
    model: nn.Module, gradients: EnvironmentGradients, aggregator: Aggregator, processes: Processes
) -> BackwardResult:
    """Do what ``ilc.gradients.combined`` does: ``.grad`` becomes the update of this process's parts."""
    risks, statistics, penalties = gradients
    warn_of_one_environment(aggregator, statistics)
    parameters = shards(model)
    shares = []
    for name in list(statistics):
        p = parameters[name]
        p.grad = None
        update, share = update_of_shard(statistics.pop(name), p, aggregator)
        p.grad = as_gradient(update, p)
        call_hooks(p)
        # The share of an empty part may be NaN.
        shares.append(share.float() * update.numel() if update.numel() else torch.zeros_like(share.float()))
    kept = torch.stack(shares)
    processes.sum_(kept)
    sizes = kept.new_tensor([max(1, p.numel()) for p in parameters.values()])
    kept_share = dict(zip(parameters, (kept / sizes).unbind(), strict=True))
    penalties = torch.zeros_like(risks) if penalties is None else penalties
    return BackwardResult(risks, penalties, kept_share, kept.sum() / sizes.sum())


def as_gradient(update: Tensor, p: DTensor) -> DTensor:
    """The update of this process's part as a gradient of the parameter."""
    return _as_shard(update.to(p.dtype), p)


def _as_shard(part: Tensor, p: DTensor) -> DTensor:
    return DTensor.from_local(
        part, p.device_mesh, p.placements, run_check=False, shape=p.shape, stride=p.stride()
    )
