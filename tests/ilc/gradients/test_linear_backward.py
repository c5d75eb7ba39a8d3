"""Backward passes that change gradients by their size act on each environment alone, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Iga, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import backward

D = 5
SameAsLoop = Callable[..., None]


def bounded(gradient: Tensor) -> Tensor:
    """Clips the norm to 1."""
    return gradient * (1 / gradient.norm().clamp(min=1e-12)).clamp(max=1)


class Clip(torch.autograd.Function):
    """Changes no value, and clips the gradient that passes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h: Tensor) -> Tensor:
        return h.view_as(h)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return bounded(gradient)


class Turn(Clip):
    """Reverses the gradient, as domain-adversarial training does; this is linear."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return -gradient


def by_function(h: Tensor) -> Tensor:
    result: Tensor = Clip.apply(h)
    return result


def by_node(h: Tensor) -> Tensor:
    assert h.grad_fn is not None
    h.grad_fn.register_prehook(lambda gradients: (bounded(gradients[0]),))
    return h


def turned(h: Tensor) -> Tensor:
    result: Tensor = Turn.apply(h)
    return result


class Net(nn.Module):
    def __init__(self, within: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.last, self.skip = nn.Linear(D, 7), nn.Linear(7, 2), nn.Linear(7, 2)
        self.within = within

    def forward(self, x: Tensor) -> Tensor:
        below = self.first(x)
        result: Tensor = self.last(self.within(below.tanh())) + self.skip(below)
        return result


class ClippedWeight(Net):
    """Clips the gradient of a weight, which has no rows."""

    def forward(self, x: Tensor) -> Tensor:
        below = F.linear(x, self.within(self.first.weight), self.first.bias)
        result: Tensor = self.last(below.tanh())
        return result


def batch(n_environments: int, n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    inputs = torch.randn(n_environments, n, D, generator=random)
    return inputs, (inputs[..., 0] > 0).long()


@torch.no_grad()
def shrunk(model: Net) -> Net:
    """Small weights, with which no limit is reached."""
    model.last.weight.mul_(0.5)
    model.skip.weight.mul_(0.5)
    return model


@torch.no_grad()
def grown(model: Net) -> Net:
    """Larger weights, with which limits are reached."""
    model.last.weight.mul_(40)
    model.skip.weight.mul_(40)
    return model


@pytest.mark.parametrize(
    ("kind", "within"), [(Net, by_function), (Net, by_node), (ClippedWeight, by_function)]
)
def test_limits_that_are_reached_later(
    kind: type[Net], within: Callable[[Tensor], Tensor], same_as_loop: SameAsLoop
) -> None:
    torch.manual_seed(1)
    model, (inputs, targets) = kind(within), batch(6, 8)
    for change in (shrunk, grown):
        change(model)
        same_as_loop(model, F.cross_entropy, inputs, targets, "vectorized")
        same_as_loop(model, F.cross_entropy, inputs, targets, "vectorized", Mean())


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_weights_of_environments_weigh_bounded_gradients(way: str) -> None:
    torch.manual_seed(1)
    model, (inputs, targets) = shrunk(ClippedWeight(by_function)), batch(6, 8)
    backward(model, F.cross_entropy, inputs, targets, VRex(10.0), way)
    grown(model)
    risks = [F.cross_entropy(model(x), y) for x, y in zip(inputs, targets, strict=True)]
    rows = torch.stack([torch.autograd.grad(risk, model.first.weight)[0] for risk in risks])
    assert max(row.norm() for row in rows) > 0.99, "no gradient reaches the limit"
    leaves = torch.stack(risks).detach().requires_grad_()
    (weights,) = torch.autograd.grad(leaves.mean() + 10 * leaves.var(unbiased=False), leaves)
    backward(model, F.cross_entropy, inputs, targets, VRex(10.0), way)
    expected = torch.einsum("e,e...->...", weights, rows)
    torch.testing.assert_close(model.first.weight.grad, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("within", [by_function, by_node])
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_examples_that_share_a_pass_are_refused(within: Callable[[Tensor], Tensor], way: str) -> None:
    torch.manual_seed(1)
    with pytest.raises(UserError, match=r"changes gradients by their size.*'per_example_loss'"):
        backward(Net(within), F.cross_entropy, *batch(48, 1), AndMask(0.3), way)


@pytest.mark.parametrize("within", [by_function, by_node])
def test_a_pass_for_each_example_is_right(
    within: Callable[[Tensor], Tensor], same_as_loop: SameAsLoop
) -> None:
    torch.manual_seed(1)
    same_as_loop(grown(Net(within)), F.cross_entropy, *batch(12, 1), "per_example_loss")


def test_a_second_differentiation_is_refused() -> None:
    torch.manual_seed(1)
    with pytest.raises(UserError, match="changes gradients by their size"):
        backward(ClippedWeight(by_function), F.cross_entropy, *batch(6, 8), Iga(penalty_weight=1.0))


@pytest.mark.parametrize("way", ["vectorized", "per_example", "per_example_share"])
def test_a_gradient_that_is_turned_round_is_linear(
    way: str, same_as_loop: SameAsLoop, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(1)
    inputs, targets = batch(6, 8) if way == "vectorized" else batch(48, 1)
    same_as_loop(Net(turned), F.cross_entropy, inputs, targets, way)
    assert "by their size" not in capsys.readouterr().err
