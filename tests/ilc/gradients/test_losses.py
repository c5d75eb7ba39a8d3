"""Losses with parameters of their own, that look at numbers, that reach into the model, or remember."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, backward, environment_gradients

D, C = 5, 3


class Tempered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs * self.temperature, targets)


class Proxies:
    """A user's own object, called by a method."""

    def __init__(self) -> None:
        self.proxies = torch.randn(C, C, requires_grad=True)

    def risk(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(F.normalize(outputs, dim=-1) @ F.normalize(self.proxies, dim=-1).T, targets)


def in_a_closure() -> Any:
    scale = torch.ones(C, requires_grad=True)
    return lambda outputs, targets: F.cross_entropy(outputs * scale, targets)


def in_arguments() -> Any:
    def risk(outputs: Tensor, targets: Tensor, head: nn.Module) -> Tensor:
        return F.cross_entropy(head(outputs), targets)

    return partial(risk, head=nn.Linear(C, C))


LOSSES: dict[str, Callable[[], Any]] = {
    "temperature": Tempered,
    "proxies": lambda: Proxies().risk,
    "scale": in_a_closure,
    "weight": in_arguments,
}


def make() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, C))


def batch(way: str, e: int = 3, n: int = 4) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(e, n, D, generator=random), torch.randint(0, C, (e, n), generator=random)
    return (inputs.view(-1, 1, D), targets.view(-1, 1)) if way in PER_EXAMPLE else (inputs, targets)


def aggregator_of(way: str) -> Any:
    return Mean() if way in ("pooled", "mean") else AndMask(0.5)


@pytest.mark.parametrize("way", [*WAYS, "mean"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_parameter_of_the_loss_is_refused_by_name(name: str, way: str) -> None:
    gradients = "vectorized" if way == "mean" else way
    with pytest.raises(UserError, match=f"loss_fn.*{name}.*part of the model"):
        backward(make(), LOSSES[name](), *batch(way), aggregator_of(way), gradients)


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example"])
def test_of_a_frozen_one_it_is_trained_beside_it_and_refused_once_unfrozen(way: str) -> None:
    loss = Tempered()
    loss.requires_grad_(False)
    model = make()
    backward(model, loss, *batch(way), AndMask(0.5), way)
    loss.requires_grad_(True)
    with pytest.raises(UserError, match=r"loss_fn\.temperature"):
        backward(model, loss, *batch(way), AndMask(0.5), way)


@pytest.mark.parametrize("way", ["vectorized", "mean", "sequential", "per_example", "per_example_share"])
def test_a_loss_that_reaches_into_the_model(way: str, same_as_loop: Callable[..., None]) -> None:
    model = make()
    gradients, aggregator = ("vectorized", Mean()) if way == "mean" else (way, None)

    def decayed(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + 0.1 * sum(p.square().sum() for p in model.parameters())

    inputs, targets = batch(way)
    rows = []
    for x, y in zip(inputs, targets, strict=True):
        rows.append(torch.autograd.grad(decayed(model(x), y), list(model.parameters())))
    try:
        found = environment_gradients(
            model, decayed, inputs, targets, aggregator or AndMask(0.5), gradients
        ).statistics
    except UserError as error:
        assert way in PER_EXAMPLE and "per_example_loss" in str(error)
        return
    for one, column in zip(found.values(), zip(*rows, strict=True), strict=True):
        torch.testing.assert_close(one.total, torch.stack(column).sum(0))


def by_its_size(outputs: Tensor, targets: Tensor) -> Tensor:
    loss = F.cross_entropy(outputs, targets)
    return 2 * loss if loss.item() > 1 else loss


def of_some(outputs: Tensor, targets: Tensor) -> Tensor:
    keep = targets != 0
    return F.cross_entropy(outputs[keep], targets[keep], reduction="sum")


@pytest.mark.parametrize("way", ["sequential", *PER_EXAMPLE])
@pytest.mark.parametrize("loss", [by_its_size, of_some])
def test_a_loss_that_looks_at_numbers(loss: Any, way: str, same_as_loop: Callable[..., None]) -> None:
    inputs, targets = batch(way)
    same_as_loop(make(), loss, inputs, targets, way)


@pytest.mark.parametrize("loss", [by_its_size, of_some])
def test_by_torch_func_it_is_refused_with_the_remedy(loss: Any) -> None:
    for aggregator in (AndMask(0.5), Mean()):
        with pytest.raises(UserError, match="use gradients='sequential'"):
            backward(make(), loss, *batch("vectorized"), aggregator)


class Running(nn.Module):
    """Divides by a running mean of itself."""

    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        loss = F.cross_entropy(outputs, targets)
        self.scale.mul_(0.9).add_(0.1 * loss.detach())
        return loss / self.scale


@pytest.mark.parametrize("way", ["vectorized", "sequential", *PER_EXAMPLE])
def test_a_loss_that_remembers_is_refused_and_left_as_it_was(way: str) -> None:
    loss = Running()
    with pytest.raises(UserError, match=r"the loss (keeps|changes)"):
        backward(make(), loss, *batch(way), AndMask(0.5), way)
    assert loss.scale == 1


class Failing(nn.Module):
    """What only a pass of one example can follow."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(D, C)

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 4:
            raise ValueError("too many examples")
        result: Tensor = self.layer(x)
        return result


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_a_refusal_names_a_way_that_works(way: str) -> None:
    with pytest.raises(UserError, match="gradients='sequential'"):
        backward(Failing(), F.cross_entropy, *batch(way), AndMask(0.5), way)


@pytest.mark.parametrize("kind", ["scripted", "traced"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:.torch.jit:FutureWarning"
)  # From torch 2.14.
def test_models_without_python(kind: str, way: str) -> None:
    model = make()
    jitted = torch.jit.script(model) if kind == "scripted" else torch.jit.trace(model, torch.zeros(4, D))
    try:
        backward(jitted, F.cross_entropy, *batch(way), aggregator_of(way), way)
    except UserError as error:
        other = {"vectorized": "sequential"}.get(way, "per_example_loss")
        assert f"gradients='{other}'" in str(error) and "\n" not in str(error)
        return
    backward(model, F.cross_entropy, *batch(way), aggregator_of(way), way)
    for ours, theirs in zip(jitted.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


class WithVector(nn.Module):
    """Returns a vector beside its rows, here of the length of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.prior = make(), nn.Parameter(torch.tensor([1.0, -2.0]))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": self.body(x), "prior": self.prior}


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_a_vector_as_long_as_the_batch_is_not_divided_among_the_examples(way: str) -> None:
    def risk(outputs: dict[str, Tensor], targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs["logits"], targets) + outputs["prior"].square().sum()

    with pytest.raises(UserError, match="use gradients='sequential'"):
        backward(WithVector(), risk, *batch(way, e=2, n=1), AndMask(0.5), way)


class Router(nn.Module):
    """Keeps an auxiliary loss of the whole batch for the loss to read."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.auxiliary = make(), None

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.body(x)
        self.auxiliary = outputs.square().mean()
        return outputs


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_a_loss_that_no_way_per_example_can_follow_names_one_that_can(way: str) -> None:
    model = Router()

    def risk(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets) + 0.1 * model.auxiliary

    for _ in range(2):
        with pytest.raises(UserError, match="use gradients='sequential'"):
            backward(model, risk, *batch(way), AndMask(0.5), way)
