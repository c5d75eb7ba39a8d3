"""Decisions of an earlier step do not outlive what they rest on."""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, backward, environment_gradients
from ilc.gradients._trials.fingerprint import fingerprint

D, C = 5, 3
NUMPY: Any = import_module("numpy") if find_spec("numpy") else None


@dataclass(slots=True)
class Settings:
    strength: float = 0.0


class Switched(nn.Module):
    """A perceptron that, once it is told to, centres its batch half-way, carries over or saves memory.

    After a whole centring the gradient of the bias is zero but for rounding, and has no sign to compare.
    """

    on: Tensor

    def __init__(self, reads_the_buffer: bool = False) -> None:
        super().__init__()
        self.first, self.last, self.reads = nn.Linear(D, 6), nn.Linear(6, C), reads_the_buffer
        self.inner = nn.Identity()
        self.center, self.strength, self.step, self.reentrant, self.carries = False, 0.0, 0, False, False
        self.options = SimpleNamespace(center=False, strength=0.0)
        self.arguments = Namespace(center=False)
        self.settings = Settings()
        self.share: Any = NUMPY.float64(0) if NUMPY else 0.0
        self.weights: Any = NUMPY.zeros(2) if NUMPY else None
        self.flags = {"center": False}
        self.carried = 0.0
        self.register_buffer("on", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        on = self.center or self.options.center or self.flags["center"] or self.step > 3
        on = on or self.arguments.center or bool(self.settings.strength + self.options.strength)
        on = on or bool(self.share) or (self.weights is not None and bool(self.weights.any()))
        on = on or not self.inner.training
        strength = float(on) + self.strength
        if strength or self.reads:
            hidden = hidden - (strength + self.on) / 2 * hidden.mean(0)
        if self.carries:
            hidden, self.carried = hidden + self.carried, float(hidden.detach().mean())
        if self.reentrant:
            hidden = checkpoint(torch.tanh, hidden, use_reentrant=True)
        result: Tensor = self.last(hidden.tanh())
        return result


def hook_that_centres(layer: nn.Module, arguments: Any, output: Tensor) -> Tensor:
    return output - output.mean(0) / 2


def load(model: Any) -> None:
    model.load_state_dict({**model.state_dict(), "on": torch.ones(())})


def swap(model: Any) -> None:
    model.last = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, C))


def tie(model: Any) -> None:
    model.inner = nn.Linear(D, 6)
    model.inner.weight = model.first.weight


def centred(layer: Any, h: Tensor) -> Tensor:
    return F.linear(h - h.mean(0), layer.weight, layer.bias)


CHANGES: dict[str, Callable[[Any], object]] = {
    "a flag": lambda model: setattr(model, "center", True),
    "a number": lambda model: setattr(model, "strength", 0.5),
    "a counter": lambda model: setattr(model, "step", 4),
    "a flag of its options": lambda model: setattr(model.options, "center", True),
    "a number of its options": lambda model: setattr(model.options, "strength", 0.5),
    "a flag of its arguments": lambda model: setattr(model.arguments, "center", True),
    "a number in a dataclass": lambda model: setattr(model.settings, "strength", 0.5),
    "a flag in a dictionary": lambda model: model.flags.update(center=True),
    "the mode of a layer": lambda model: model.inner.eval(),
    "all modes": lambda model: model.eval(),
    "a hook": lambda model: model.first.register_forward_hook(hook_that_centres),
    "a buffer": lambda model: model.on.fill_(0.5),
    "a state that is loaded": load,
    "another layer": swap,
    "another layer of the kind": lambda model: setattr(model, "last", nn.Linear(6, C)),
    "a layer tied": tie,
    "another forward": lambda model: setattr(model.last, "forward", MethodType(centred, model.last)),
    "a layer frozen": lambda model: model.first.requires_grad_(False),
    "carrying over": lambda model: setattr(model, "carries", True),
    "reentrant checkpoints": lambda model: setattr(model, "reentrant", True),
}
BUFFERS = ("a buffer", "a state that is loaded")
if NUMPY:
    CHANGES["a number of numpy"] = lambda model: setattr(model, "share", NUMPY.float64(0.5))
    CHANGES["a few numbers of numpy"] = lambda model: model.weights.fill(0.5)


def batch(way: str) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(4, 3, D, generator=random), torch.randint(0, C, (4, 3), generator=random)
    return (inputs.view(12, 1, D), targets.view(12, 1)) if way in PER_EXAMPLE else (inputs, targets)


@pytest.mark.parametrize("way", ["vectorized", "mean", "sequential", "per_example", "per_example_share"])
@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_it_is_right_or_refused(
    change: str, way: str, same_as_loop: Callable[..., None]
) -> None:
    torch.manual_seed(1)
    model = Switched(reads_the_buffer=change in BUFFERS)
    inputs, targets = batch(way)
    gradients = "vectorized" if way == "mean" else way
    aggregator = Mean() if way == "mean" else None
    if way in PER_EXAMPLE and change in BUFFERS:  # It mixes by a factor of zero, which may change.
        with pytest.raises(UserError, match="per_example_loss"):
            backward(model, F.cross_entropy, inputs, targets, AndMask(0.5), gradients)
        return
    for _ in range(2):
        backward(model, F.cross_entropy, inputs, targets, aggregator or AndMask(0.5), gradients)
    CHANGES[change](model)
    if way in PER_EXAMPLE:
        exact = copy.deepcopy(model)
        try:
            found = environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), gradients)
        except UserError as error:
            assert "\n" not in str(error)
            return
        true = environment_gradients(
            exact, F.cross_entropy, inputs, targets, AndMask(0.5), "per_example_loss"
        )
        for name, one in true.statistics.items():
            assert torch.equal(found.statistics[name].sign_sum, one.sign_sum), name
        return
    refused = {"carrying over", "reentrant checkpoints"}
    try:
        same_as_loop(model, F.cross_entropy, inputs, targets, gradients, aggregator)
        assert change not in refused
    except UserError as error:
        assert change in refused and "\n" not in str(error)


def test_what_steps_themselves_move_does_not_move_the_ground() -> None:
    model = nn.Sequential(nn.Linear(D, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, C))
    before = fingerprint(model, F.cross_entropy)
    optimizer = torch.optim.Adam(model.parameters())
    for way in ("vectorized", "sequential"):
        backward(model, F.cross_entropy, *batch(way), AndMask(0.5), way)
        optimizer.step()
    assert fingerprint(model, F.cross_entropy) == before
    assert hash(before) == hash(fingerprint(model, F.cross_entropy))
    assert fingerprint(model.eval(), F.cross_entropy) != before
