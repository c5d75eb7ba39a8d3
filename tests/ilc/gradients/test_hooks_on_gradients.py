"""Hooks act as in ``loss.backward()``, in every way that is not refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Iga, LayerAgreement, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, backward

D, C = 5, 3


def inside(model: nn.Sequential) -> None:
    model[0].register_forward_hook(
        lambda layer, arguments, output: output.register_hook(lambda g: 2 * g) and None
    )


HOOKS: dict[str, Callable[[Any], object]] = {
    "rows held still": lambda model: model[0].weight.register_hook(
        lambda g: g * (torch.arange(6) < 3)[:, None]
    ),
    "a sign turned": lambda model: model[2].bias.register_hook(lambda g: -g),
    "clipped": lambda model: model[0].weight.register_hook(lambda g: g.clamp(-0.01, 0.01)),
    "of a module": lambda model: model[1].register_full_backward_hook(
        lambda m, inner, outer: (3 * inner[0],)
    ),
    "before a module": lambda model: model[1].register_full_backward_pre_hook(lambda m, g: (g[0].relu(),)),
    "of an output": inside,
}


def make() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, C))


def batch(way: str) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs, targets = torch.randn(3, 4, D, generator=random), torch.randint(0, C, (3, 4), generator=random)
    return (inputs.view(12, 1, D), targets.view(12, 1)) if way in PER_EXAMPLE else (inputs, targets)


def expected(hook: str, way: str) -> list[Tensor]:
    rows = []
    pairs = [tuple(v.flatten(0, 1) for v in batch(way))] if way == "pooled" else zip(*batch(way), strict=True)
    for x, y in pairs:
        model = make()
        HOOKS[hook](model)
        F.cross_entropy(model(x), y).backward()
        rows.append([p.grad for p in model.parameters()])
    return [torch.stack(column).mean(0) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("aggregator", [AndMask(0.0), Mean(), VRex(0.0)], ids=["votes", "mean", "joint"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hook", HOOKS)
def test_hooks(hook: str, way: str, aggregator: Any, later: bool) -> None:
    if (way == "pooled") != isinstance(aggregator, Mean) and way == "pooled":
        return
    if isinstance(aggregator, VRex) and way not in ("vectorized", "sequential"):
        return
    model = make()
    if later:
        backward(model, F.cross_entropy, *batch(way), aggregator, way)
    HOOKS[hook](model)
    try:
        backward(model, F.cross_entropy, *batch(way), aggregator, way)
    except UserError as error:
        other = "sequential" if way == "vectorized" else "per_example_loss"
        assert way in ("per_example", "per_example_share") or hook == "of an output"
        assert f"gradients='{other}'" in str(error)
        return
    for p, theirs in zip(model.parameters(), expected(hook, way), strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "pooled"])
def test_post_accumulate_hooks_are_called_once_with_the_update(way: str) -> None:
    model, seen = make(), []
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    backward(model, F.cross_entropy, *batch(way), AndMask(0.5), way)
    assert len(seen) == 4
    assert all(torch.equal(one, p.grad) for one, p in zip(seen, model.parameters(), strict=True))


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("hook", HOOKS)
def test_weights_of_environments_weigh_what_hooks_have_made(hook: str, way: str) -> None:
    model, (inputs, targets) = make(), batch(way)
    HOOKS[hook](model)
    risks = [F.cross_entropy(model(x), y) for x, y in zip(inputs, targets, strict=True)]
    rows = [torch.autograd.grad(risk, list(model.parameters())) for risk in risks]
    leaves = torch.stack(risks).detach().requires_grad_()
    (weights,) = torch.autograd.grad(leaves.mean() + 10 * leaves.var(unbiased=False), leaves)
    backward(model, F.cross_entropy, inputs, targets, VRex(10.0), way)
    for p, column in zip(model.parameters(), zip(*rows, strict=True), strict=True):
        weighted = torch.einsum("e,e...->...", weights, torch.stack(column))
        torch.testing.assert_close(p.grad, weighted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("aggregator", [Iga(1.0), LayerAgreement(0.5)])
@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "of an output"])
def test_gradients_of_gradients_are_refused_with_hooks(hook: str, aggregator: Any) -> None:
    model = make()
    HOOKS[hook](model)
    with pytest.raises(UserError, match="second differentiation, but hooks act on gradients"):
        backward(model, F.cross_entropy, *batch("sequential"), aggregator, "sequential")
