"""Effects that are too small to show in sums of gradients: penalties on weights, auxiliary losses, noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean, VRex
from ilc.gradients import PER_EXAMPLE, backward, environment_gradients

D, C = 5, 3
SMALL = 1e-4
"""Times a sum of squares or sizes, it changes the gradients below by less than a thousandth."""


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, C))


def kernels() -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (1, D)), nn.Conv1d(1, 4, 3), nn.Flatten(), nn.Linear(12, C))


def by_attribute(model: nn.Module) -> Any:
    return lambda o, y: F.cross_entropy(o, y) + SMALL * sum(p.square().sum() for p in model.parameters())


def by_a_list(model: nn.Module) -> Any:
    every = list(model.parameters())
    return lambda o, y: F.cross_entropy(o, y) + SMALL * sum(p.abs().sum() for p in every)


def batch(way: str, e: int = 3, n: int = 4) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(e, n, D, generator=random), torch.randint(0, C, (e, n), generator=random)
    return (inputs.view(-1, 1, D), targets.view(-1, 1)) if way in PER_EXAMPLE else (inputs, targets)


def totals_of_loop(model: nn.Module, loss_fn: Any, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    risks = [loss_fn(model(x), y) for x, y in zip(inputs, targets, strict=True)]
    return dict(zip(names, torch.autograd.grad(torch.stack(risks).sum(), parameters), strict=True))


def assert_penalised(model: nn.Module, loss_fn: Any, inputs: Tensor, targets: Tensor, totals: Any) -> None:
    """The totals are those of the loop, so closely that the penalty is among them."""
    loops = totals_of_loop(model, loss_fn, inputs, targets)
    without = totals_of_loop(model, F.cross_entropy, inputs, targets)
    for name, loop in loops.items():
        assert (totals[name] - loop).norm() < 0.05 * (loop - without[name]).norm(), name


@pytest.mark.parametrize("loss", [by_attribute, by_a_list])
@pytest.mark.parametrize("make", [layers, kernels])
@pytest.mark.parametrize("way", ["vectorized", *PER_EXAMPLE])
def test_a_penalty_on_the_weights_is_in_the_update(
    way: str, make: Callable[[], nn.Module], loss: Callable[[nn.Module], Any]
) -> None:
    torch.manual_seed(1)
    model = make()
    inputs, targets = batch(way)
    found = environment_gradients(model, loss(model), inputs, targets, AndMask(0.5), way).statistics
    assert_penalised(model, loss(model), inputs, targets, {name: one.total for name, one in found.items()})


@pytest.mark.parametrize("loss", [by_attribute, by_a_list])
@pytest.mark.parametrize("aggregator", [Mean(), VRex(penalty_weight=0.0)])
def test_so_it_is_for_aggregators_that_need_no_votes(
    aggregator: Any, loss: Callable[[nn.Module], Any]
) -> None:
    torch.manual_seed(1)
    model = kernels()
    inputs, targets = batch("vectorized")
    backward(model, loss(model), inputs, targets, aggregator)
    totals = {name: len(inputs) * p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert_penalised(model, loss(model), inputs, targets, totals)


class Noisy(nn.Module):
    """Draws random numbers, so that no two passes can be compared."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.scale = nn.Linear(D, C), nn.Parameter(torch.ones(C))
        self.kept = [self.scale]

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        result: Tensor = (hidden + torch.randn_like(hidden)) * self.kept[0]
        return result


@pytest.mark.parametrize("aggregator", [AndMask(0.0), Mean()])
def test_noise_does_not_hide_what_torch_func_leaves_out(aggregator: Any) -> None:
    torch.manual_seed(1)
    model = Noisy()

    def penalised(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + 10 * model.scale.square().sum()

    backward(model, penalised, *batch("vectorized"), aggregator)
    gradient = model.scale.grad
    assert gradient is not None and bool(((gradient - 20).abs() < 2).all())
    model.zero_grad()
    backward(model, F.cross_entropy, *batch("vectorized"), aggregator)
    assert model.scale.grad is not None and bool(model.scale.grad.any())


class Reused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).tanh() + SMALL * F.linear(x, self.first.weight)
        result: Tensor = self.last(hidden)
        return result


@pytest.mark.parametrize("way", ["vectorized", *PER_EXAMPLE])
def test_a_second_use_of_a_weight_is_in_the_update(way: str) -> None:
    torch.manual_seed(1)
    model = Reused()
    inputs, targets = batch(way)
    found = environment_gradients(model, F.cross_entropy, inputs, targets, AndMask(0.5), way).statistics
    for name, total in totals_of_loop(model, F.cross_entropy, inputs, targets).items():
        torch.testing.assert_close(found[name].total, total, rtol=1e-5, atol=1e-6)


class Regular(nn.Module):
    """A layer that only an auxiliary loss of the whole batch trains."""

    def __init__(self) -> None:
        super().__init__()
        self.main, self.router = nn.Linear(D, C), nn.Linear(D, 4)
        self.aux: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.aux = self.router(x).mean(0).tanh().square().sum()
        result: Tensor = self.main(x)
        return result


def test_an_auxiliary_loss_votes_for_its_own_environment() -> None:
    torch.manual_seed(1)
    model = Regular().double()
    inputs, targets = batch("vectorized")
    inputs = inputs.double()
    for factor in (1.0, 1e-7, 1e-12):

        def penalised(outputs: Tensor, targets: Tensor, factor: float = factor) -> Tensor:
            assert model.aux is not None
            return F.cross_entropy(outputs, targets) + factor * model.aux

        found = environment_gradients(model, penalised, inputs, targets, AndMask(0.5)).statistics
        loop = environment_gradients(model, penalised, inputs, targets, AndMask(0.5), "sequential").statistics
        for name, one in found.items():
            assert torch.equal(one.sign_sum, loop[name].sign_sum), (factor, name)
