"""What the processes of ``test_same_step`` do: one step each, unlike the other's."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from ilc import distributed
from ilc._processes import current
from ilc.aggregators import Aggregator, AndMask, GradDrop
from ilc.errors import UserError

CASES = ("layer of equal size", "layer of another size", "threshold", "seed")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 2))


def aggregator_of(case: str, rank: int) -> Aggregator:
    if case == "seed":
        return GradDrop(seed=rank)
    return AndMask(0.75 if case == "threshold" and rank else 0.5)


def refused(case: str) -> str:
    """The message of the refusal; empty if there is none."""
    rank, model = current().rank, network()
    if "layer" in case:
        frozen = 2 if case == "layer of equal size" else 3
        model[frozen if rank else 0].requires_grad_(False)
    x = torch.randn(2, 8, 5)
    try:
        distributed.backward(model, F.cross_entropy, x, (x[..., 0] > 0).long(), aggregator_of(case, rank))
    except UserError as error:
        return str(error)
    return ""


def refused_by_ddp(case: str) -> str:
    """The message of the refusal when the hook is registered; empty if there is none."""
    try:
        distributed.register_ddp_hook(DistributedDataParallel(network()), aggregator_of(case, current().rank))
    except UserError as error:
        return str(error)
    return ""
