"""Whether a model's parameters are divided among processes, by FSDP2 or by FSDP1."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError

_FSDP = ("torch.distributed.fsdp", "torch.distributed._composable.fsdp")
"""Where the classes of FSDP are; before torch 2.6 those of FSDP2 were in the second."""


def fsdp_modules(model: nn.Module) -> list[Any]:
    """The modules on which ``fully_shard`` was called."""
    return _of_class(model, "FSDPModule")


def roots(model: nn.Module) -> list[Any]:
    """Those of ``fsdp_modules`` that no other one contains."""
    every = fsdp_modules(model)
    inner = {id(part) for module in every for part in module.modules() if part is not module}
    return [module for module in every if id(module) not in inner]


def is_sharded(model: nn.Module) -> bool:
    """Whether ``fully_shard`` was called on a part of the model.

    Raises:
        UserError: it was, and this torch has no way for a sharded model to vote.
    """
    modules = fsdp_modules(model)
    if modules and not hasattr(modules[0], "set_custom_reduce_scatter"):
        raise UserError(
            f"torch {torch.__version__} has no FSDPModule.set_custom_reduce_scatter, through which sharded "
            "models vote: install torch 2.11 or newer, or give the model to ilc.distributed.backward without "
            "fully_shard"
        )
    return bool(modules)


def reshard(model: nn.Module) -> None:
    """Divide again what a forward pass without gradients has put together."""
    for module in fsdp_modules(model):
        module.reshard()


def forget_unfinished(model: nn.Module) -> None:
    """Remove the gradients that a backward pass with an error has left in whole parameters.

    Every process calls it, because whole parameters are put together for it.
    """
    for module in fsdp_modules(model):
        module.unshard()
        for p in module.parameters():
            if not hasattr(p, "to_local"):
                p.grad = None
        module.reshard()


def local_part(tensor: Tensor) -> Tensor:
    """The part of a sharded tensor that this process has; any other tensor itself."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def is_in_fsdp1(model: nn.Module) -> bool:
    """Whether a part of the model is a ``FullyShardedDataParallel``."""
    return bool(_of_class(model, "FullyShardedDataParallel"))


def _of_class(model: nn.Module, name: str) -> list[nn.Module]:
    # Where nobody has imported it, nothing is sharded, and its import takes time.
    found = (getattr(sys.modules.get(place), name, None) for place in _FSDP)
    classes = tuple(each for each in found if each is not None)
    return [part for part in model.modules() if classes and isinstance(part, classes)]
