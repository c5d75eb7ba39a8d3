"""Updates in the place of FSDP2's averages, one parameter after another during the backward pass."""

from __future__ import annotations

from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from torch import Tensor, nn

from ilc.aggregators import Aggregator
from ilc.distributed._shards.checks import shards
from ilc.distributed._shards.reduce_scatter import voting_reduce_scatter
from ilc.distributed._shards.update import as_gradient, update_of_shard
from ilc.errors import UserError

_hooks: WeakKeyDictionary[nn.Module, list[Any]] = WeakKeyDictionary()


def let_fsdp_combine(model: nn.Module, aggregator: Aggregator) -> None:
    """Replace the hooks of an earlier call by hooks of this aggregator.

    Raises:
        UserError: a parameter has a gradient already.
    """
    parameters = shards(model)
    for name, p in parameters.items():
        if p.grad is not None:
            raise UserError(_LEFT.format(name=name))
    for handle in _hooks.get(model, []):
        handle.remove()
    comm = voting_reduce_scatter(model)
    comm.aggregator = aggregator
    comm.abandon()
    left: dict[str, ReferenceType[Tensor]] = {}

    def combine(p: Any, name: str) -> None:
        # FSDP2 adds to a gradient that is there, and gives a new one otherwise.
        if name in left and left[name]() is p.grad:
            comm.abandon()
            raise UserError(_LEFT.format(name=name))
        update = update_of_shard(comm.take(p, aggregator), p, aggregator).update
        p.grad = as_gradient(update, p)
        left[name] = ref(p.grad)

    _hooks[model] = [
        p.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
            lambda p, name=name: combine(p, name)
        )
        for name, p in parameters.items()
    ]


_LEFT = (
    "{name} has a gradient from an earlier backward pass, and the sum of two passes cannot be masked "
    "exactly: call optimizer.zero_grad() before each backward pass, without set_to_none=False. For a batch "
    "in several passes call model.set_requires_gradient_sync(False) before all but the last; for several "
    "environments per process take ilc.distributed.backward"
)
