"""What a sharded model must be like, so that its environments can vote."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.tensor import DTensor

from ilc._processes import Processes
from ilc.aggregators import Aggregator
from ilc.aggregators._joint import JointAggregator
from ilc.errors import UserError
from ilc.gradients._environment import trainable_parameters
from ilc.gradients._sharded import reshard


def shards(model: nn.Module) -> dict[str, DTensor]:
    """The trainable parameters by name, each with the part that this process has."""
    reshard(model)
    return trainable_parameters(model)  # type: ignore[return-value]


def check_sharded(model: nn.Module, aggregator: Aggregator, processes: Processes) -> None:
    """Raise UserError unless all trainable parameters are divided among all processes along one axis.

    Args:
        model: a model on which ``fully_shard`` was called.
        aggregator: the aggregator of the step.
        processes: all processes.
    """
    if isinstance(aggregator, JointAggregator):
        raise UserError(
            f"{type(aggregator).__name__} needs the graphs or gradients of all environments at once, and a "
            "sharded model has them only one after another: take an aggregator of sums, such as "
            "AndMask(agreement_threshold=0.8), or give the model to ilc.distributed.backward before "
            "fully_shard"
        )
    for name, p in shards(model).items():
        _check_parameter(name, p, processes)


def _check_parameter(name: str, p: Any, processes: Processes) -> None:
    if not isinstance(p, DTensor):
        raise UserError(
            f"{name} is trainable but not sharded, so that processes would not share its gradient: call "
            "fully_shard(model) on the whole model after its parts, without ignored_params, or freeze it"
        )
    if p.device_mesh.ndim != 1 or p.device_mesh.size() != processes.size:
        raise UserError(
            f"{name} lies on a mesh of shape {tuple(p.device_mesh.shape)}, but votes are added over all "
            f"{processes.size} processes along one axis: call fully_shard without a mesh, or with "
            f"init_device_mesh(device, ({processes.size},)), not with HSDP or tensor parallelism"
        )


def padded_size(p: DTensor) -> int:
    """How many numbers a process receives for its part of a gradient: equally many in all processes.

    FSDP2 cuts a gradient along the sharded axis into equal chunks, of which the last ones end in padding.
    """
    axis = getattr(p.placements[0], "dim", 0)
    length, size = p.shape[axis], p.device_mesh.size()
    return -(-length // size) * (p.numel() // length) if length else 0
