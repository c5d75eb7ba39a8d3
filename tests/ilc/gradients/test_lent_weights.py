"""Layers to which ``functional_call`` lends other tensors, from the first step on or later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import environment_gradients

D, C = 5, 3
WAYS = ("vectorized", "sequential", "per_example", "per_example_share", "per_example_loss")
SWITCH = {"lent": False}


class Lent(nn.Module):
    """Its first layer works with a weight that two layers make together."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.turn, self.last = nn.Linear(D, 6), nn.Linear(6, 6, bias=False), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        if SWITCH["lent"]:
            h = functional_call(self.first, {"weight": self.turn.weight @ self.first.weight}, (x,))
        else:
            h = self.first(x)
        result: Tensor = self.last(h.tanh())
        return result


def batch(way: str) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    e, n = (9, 1) if way.startswith("per") else (4, 3)
    return torch.randn(e, n, D, generator=random).double(), torch.randint(0, C, (e, n), generator=random)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_votes_are_those_of_the_weights_that_are_lent(
    way: str, first: bool, same_as_loop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = Lent().double()
    for lent in (first, not first, first):
        monkeypatch.setitem(SWITCH, "lent", lent)
        same_as_loop(model, F.cross_entropy, *batch(way), way)


class Normed(nn.Module):
    """Its BatchNorm works with a scale that has another sign."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(D, 6), nn.BatchNorm1d(6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        lent = {"weight": -self.norm.weight} if SWITCH["lent"] else {}
        h = functional_call(self.norm, lent, (h,)) if lent else self.norm(h)
        result: Tensor = self.last(h.tanh())
        return result


def test_batch_norm_with_a_lent_scale_cannot_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = Normed().double()
    environment_gradients(model, F.cross_entropy, *batch("per_example"), AndMask(0.5), "per_example")
    monkeypatch.setitem(SWITCH, "lent", True)
    with pytest.raises(UserError, match=r"norm .*functional_call lends.*per_example_loss"):
        environment_gradients(model, F.cross_entropy, *batch("per_example"), AndMask(0.5), "per_example")
