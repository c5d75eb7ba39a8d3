"""A step that ends with an error leaves buffers as they were, wherever it was on its way."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ilc.aggregators import Mean
from ilc.errors import UserError
from ilc.gradients import WAYS, backward


class Moving(nn.Module):
    """Moves buffers of four kinds, then does something else."""

    def __init__(self, rule: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.norm, self.rule, self.calls = nn.Linear(3, 4), nn.BatchNorm1d(4), rule, 0
        self.register_buffer("anew", torch.zeros(2))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.twin = nn.Module()
        self.twin.register_buffer("anew", self.anew)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.layer(x))
        self.count += 1
        self.anew = self.anew + h.detach().mean()
        return self.rule(self, h)


def failing(self: Any, h: Tensor) -> Tensor:
    raise ValueError("a mistake of the user")


def counting(self: Any, h: Tensor) -> Tensor:
    self.calls += 1
    return h * (1 + self.calls)


def reentrant(self: Any, h: Tensor) -> Tensor:
    result: Tensor = checkpoint(torch.tanh, h, use_reentrant=True)
    return result


def detached(self: Any, h: Tensor) -> Tensor:
    return h.detach()


def branching(self: Any, h: Tensor) -> Tensor:
    return h if h.sum() > 0 else h * 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", [failing, counting, reentrant, detached, branching])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("loss", [F.cross_entropy, lambda o, t: F.cross_entropy(o[t > 0], t[t > 0])])
def test_buffers_after_an_error(way: str, rule: Any, training: bool, loss: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Moving(rule), nn.Linear(4, 3)).train(training)
    tensors, before = list(model.buffers()), copy.deepcopy(model.state_dict())
    inputs = torch.randn(3, 1 if "per_example" in way else 4, 3)
    try:
        backward(model, loss, inputs, torch.ones(inputs.shape[:2], dtype=torch.long), Mean(), way)
    except (UserError, ValueError, RuntimeError):
        assert all(ours is kept for ours, kept in zip(model.buffers(), tensors, strict=True))
        assert model[0].anew is model[0].twin.anew
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
        return
    assert rule is not failing
