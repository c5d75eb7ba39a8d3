"""Whether a model's parameters are divided among processes, by FSDP2 or by FSDP1."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor, nn

_FSDP = "torch.distributed.fsdp"


def fsdp_modules(model: nn.Module) -> list[Any]:
    """The modules on which ``fully_shard`` was called."""
    return _of_class(model, "FSDPModule")


def roots(model: nn.Module) -> list[Any]:
    """Those of ``fsdp_modules`` that no other one contains."""
    every = fsdp_modules(model)
    inner = {id(part) for module in every for part in module.modules() if part is not module}
    return [module for module in every if id(module) not in inner]


def is_sharded(model: nn.Module) -> bool:
    """Whether ``fully_shard`` was called on a part of the model."""
    return bool(fsdp_modules(model))


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
    fsdp = sys.modules.get(_FSDP)
    return [] if fsdp is None else [part for part in model.modules() if isinstance(part, getattr(fsdp, name))]
