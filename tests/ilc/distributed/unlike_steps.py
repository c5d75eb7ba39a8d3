"""What the processes of ``test_same_step`` do: one step each, unlike the other's."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ilc import distributed
from ilc._processes import current
from ilc.aggregators import AndMask
from ilc.errors import UserError

CASES = ("layer of equal size", "layer of another size", "threshold")


def refused(case: str) -> str:
    """The message of the refusal; empty if there is none."""
    rank = current().rank
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 2))
    if case != "threshold":
        frozen = 2 if case == "layer of equal size" else 3
        model[frozen if rank else 0].requires_grad_(False)
    x = torch.randn(2, 8, 5)
    aggregator = AndMask(0.75 if case == "threshold" and rank else 0.5)
    try:
        distributed.backward(model, F.cross_entropy, x, (x[..., 0] > 0).long(), aggregator)
    except UserError as error:
        return str(error)
    return ""
