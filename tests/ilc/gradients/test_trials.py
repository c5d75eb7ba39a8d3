"""What is tried out on the first batch: it waits for finite numbers, and nothing of the user's moves."""

from __future__ import annotations

import random as python_random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, backward
from ilc.gradients._ways.by_layers import known_answers

D, C = 5, 3


def make() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, C))


def batch(way: str, e: int = 3, n: int = 4) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(e, n, D, generator=random), torch.randint(0, C, (e, n), generator=random)
    return (inputs.view(-1, 1, D), targets.view(-1, 1)) if way in PER_EXAMPLE else (inputs, targets)


class Careless(nn.Module):
    """Writes into its inputs, counts, and draws from every source of random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(D, 6), nn.Linear(6, C)
        self.calls, self.own = 0, torch.Generator().manual_seed(3)

    def forward(self, x: Tensor) -> Tensor:
        import numpy as np

        self.calls += 1
        x += 1
        noise = np.random.rand() + python_random.random() + float(torch.rand((), generator=self.own))  # noqa: NPY002
        result: Tensor = self.last(self.first(x).tanh() + 0.0 * noise + 0.0 * torch.rand(()))
        return result


def scaled(outputs: Tensor, targets: Tensor) -> Tensor:
    targets *= 0.5
    return F.mse_loss(outputs, targets)


@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_the_first_step_leaves_what_one_pass_leaves(way: str) -> None:
    np = pytest.importorskip("numpy")  # Torch alone brings none, and then nobody draws from it.
    inputs, _ = batch(way)
    targets = torch.randn(len(inputs), 1, C, generator=torch.Generator().manual_seed(4))
    model, plain = Careless(), Careless()
    python_random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    x, y = inputs.clone(), targets.clone()
    for t in (plain(x.flatten(0, 1)), y):
        assert t is not None
    y *= 0.5
    expected = python_random.random(), np.random.rand(), torch.rand(())
    python_random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    backward(model, scaled, inputs, targets, AndMask(0.5), way)
    assert (python_random.random(), np.random.rand(), torch.rand(())) == expected
    assert torch.equal(inputs, x)
    assert torch.equal(targets, y)
    assert model.calls == plain.calls == 1
    assert torch.equal(model.own.get_state(), plain.own.get_state())


@pytest.mark.parametrize("aggregator", [AndMask(0.5), Mean()], ids=["votes", "mean"])
@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_each_target_is_seen_as_it_was_given(way: str, aggregator: Any) -> None:
    inputs, _ = batch(way)
    targets = torch.randn(3, 4, C)
    expected = [scaled(make()(x), y.clone()) for x, y in zip(inputs, targets, strict=True)]
    found = backward(make(), scaled, inputs, targets.clone(), aggregator, way)
    torch.testing.assert_close(found.risks, torch.stack(expected).detach())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("way", [*WAYS, "mean"])
def test_a_first_batch_that_is_not_finite(
    way: str, everywhere: bool, bad: float, same_as_loop: Callable[..., None]
) -> None:
    """The decision waits; the steps after it are right."""
    gradients = "vectorized" if way == "mean" else way
    aggregator = Mean() if way in ("mean", "pooled") else AndMask(0.5)
    inputs, targets = batch(way)
    broken = inputs.clone()
    broken[slice(None) if everywhere else 0] = bad
    model = make()
    risks = backward(model, F.cross_entropy, broken, targets, aggregator, gradients).risks
    assert not risks[0].isfinite()
    if way == "pooled":
        return
    assert bool(risks[1:].isfinite().all()) != everywhere
    same_as_loop(model, F.cross_entropy, inputs, targets, gradients, Mean() if way == "mean" else None)
    if way == "vectorized":
        assert list(known_answers(model).values()) == [True]


@pytest.mark.parametrize("way", ["vectorized", "mean", "sequential"])
def test_an_environment_without_labels(way: str) -> None:
    gradients, aggregator = ("vectorized", Mean()) if way == "mean" else (way, AndMask(0.5))
    inputs, targets = batch(way)
    targets[1] = -100
    risks = backward(make(), F.cross_entropy, inputs, targets, aggregator, gradients).risks
    assert risks.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "pooled"])
def test_a_scaler_can_skip_the_first_step(way: str) -> None:
    model = make()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer, scaler = (
        torch.optim.SGD(model.parameters(), 0.1),
        torch.amp.GradScaler("cpu", init_scale=2.0**60),
    )
    with torch.autocast("cpu", dtype=torch.float16):
        backward(model, lambda o, t: scaler.scale(F.cross_entropy(o, t)), *batch(way), AndMask(0.0), way)
    scaler.step(optimizer)
    scaler.update()
    assert all(torch.equal(p, was) for p, was in zip(model.parameters(), before, strict=True))
    assert scaler.get_scale() == 2.0**59


@pytest.mark.parametrize("way", ["vectorized", *PER_EXAMPLE])
def test_under_autocast_losses_are_in_single_precision(way: str) -> None:
    inputs, targets = batch(way)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = backward(make(), F.cross_entropy, inputs, targets, AndMask(0.5), way).risks
        plain = [F.cross_entropy(make()(x), y) for x, y in zip(inputs, targets, strict=True)]
    torch.testing.assert_close(found, torch.stack(plain).detach(), rtol=1e-3, atol=1e-3)


def test_the_reason_is_the_true_one(capsys: pytest.CaptureFixture[str]) -> None:
    from ilc.gradients._trials import choose_way as choice

    choice._say_once.cache_clear()
    inputs, targets = batch("vectorized")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backward(make(), F.cross_entropy, inputs, targets, AndMask(0.5))
    inputs[:] = torch.nan
    backward(make(), F.cross_entropy, inputs, targets, AndMask(0.5))
    assert capsys.readouterr().out == "ilc: gradients='vectorized' uses torch.func, because autocast is on\n"


@pytest.mark.parametrize(
    ("inputs", "targets", "words"),
    [
        (
            (torch.zeros(3, 4, D), torch.zeros(3, 4)),
            torch.zeros(3, 4),
            "too many positional arguments.*one after another",
        ),
        ({"ids": torch.zeros(3, 4, D)}, torch.zeros(3, 4), "'input'.*by name.*in a tuple of one"),
        (torch.zeros(3, 4, D), None, r"no targets, so the loss is called as loss_fn\(outputs\), .*'target'"),
        ([torch.zeros(3, D), None], torch.zeros(2, 3), "NoneType without an axis of examples"),
        ([torch.zeros(3, D), torch.zeros(2, D)], torch.zeros(2, 3), r"\[3, 2\] and \[3, 3\]"),
    ],
)
def test_inputs_that_the_model_does_not_take_are_one_line(inputs: Any, targets: Any, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        backward(make(), F.cross_entropy, inputs, targets, AndMask(0.5))
    assert "\n" not in str(error.value)
