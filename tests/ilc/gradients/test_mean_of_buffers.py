"""Buffers of any type and sharing: every environment starts from the same, and they end as the mean."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import accumulate, backward

D = 3
WAYS = [
    ("vectorized", AndMask(0.5)),
    ("vectorized", Mean()),
    ("sequential", AndMask(0.5)),
    ("sequential", VRex(1.0)),
    ("vectorized", VRex(1.0)),
]


class Part(nn.Module):
    """Adds something of its input to a buffer, and the buffer to its output."""

    def __init__(self, buffer: Tensor, rule: Callable[[Any, Tensor], None]) -> None:
        super().__init__()
        self.layer, self.rule = nn.Linear(D, D), rule
        self.register_buffer("seen", buffer)

    def forward(self, x: Tensor) -> Tensor:
        self.rule(self, x)
        result: Tensor = self.layer(x) * (1 + self.seen.double().abs().mean().to(x.dtype) / 100)
        return result


def in_place(self: Any, x: Tensor) -> None:
    self.seen += (x.detach().abs().amax() * 3).to(self.seen.dtype)


def anew(self: Any, x: Tensor) -> None:
    self.seen = self.seen + (x.detach().abs().amax() * 3).to(self.seen.dtype)


def copied(self: Any, x: Tensor) -> None:
    self.seen.copy_(self.seen * 0.9 + 0.1 * x.detach().mean())


def seen_large(self: Any, x: Tensor) -> None:
    self.seen.logical_or_(x.detach().amax() > 1.5)


TYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int64,
    torch.int16,
    torch.uint8,
    torch.bool,
)
RULES = [(rule, dtype) for rule in (in_place, anew) for dtype in TYPES if dtype != torch.bool]
RULES += [(seen_large, torch.bool), (copied, torch.float32), (copied, torch.bfloat16)]


def batch(e: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(e)
    return torch.randn(e, 4, D, generator=random), torch.randint(D, (e, 4), generator=random)


def oracle(model: nn.Module, inputs: Tensor, targets: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Mean buffers, mean gradients and risks from one fresh copy of the model per environment."""
    copies = [copy.deepcopy(model) for _ in inputs]
    risks = [F.cross_entropy(one(x), y) for one, x, y in zip(copies, inputs, targets, strict=True)]
    rows = [
        torch.autograd.grad(risk, list(one.parameters())) for risk, one in zip(risks, copies, strict=True)
    ]
    gradients = [torch.stack(each).mean(0) for each in zip(*rows, strict=True)]
    means = []
    for buffers in zip(*(one.buffers() for one in copies), strict=True):
        mean = torch.stack(buffers).double().mean(0)
        floating = buffers[0].is_floating_point()
        means.append(mean if floating else torch.floor(mean + 0.5))
    return means, gradients, torch.stack(risks).detach()


def check(model: nn.Module, e: int, way: str, aggregator: Any, tolerance: float) -> None:
    inputs, targets = batch(e)
    means, gradients, risks = oracle(model, inputs, targets)
    tensors = list(model.buffers())
    masking = isinstance(aggregator, AndMask)
    found = backward(model, F.cross_entropy, inputs, targets, AndMask(0.0) if masking else aggregator, way)
    assert torch.allclose(found.risks, risks, atol=1e-5)
    assert all(ours is before for ours, before in zip(model.buffers(), tensors, strict=True))
    for buffer, mean in zip(tensors, means, strict=True):
        assert torch.allclose(buffer.double(), mean, rtol=tolerance, atol=1e-6)
    if not isinstance(aggregator, VRex):
        for p, wanted in zip(model.parameters(), gradients, strict=True):
            assert p.grad is not None and torch.allclose(p.grad, wanted, atol=1e-6)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize(("rule", "dtype"), RULES)
@pytest.mark.parametrize("e", [1, 2, 5])
def test_buffers_of_any_type_end_as_the_mean(
    way: str, aggregator: Any, rule: Any, dtype: torch.dtype, e: int
) -> None:
    torch.manual_seed(0)
    start = torch.zeros(2, dtype=dtype) if dtype == torch.bool else torch.arange(2).to(dtype) + 2
    model = nn.Sequential(Part(start, rule), nn.Tanh(), nn.Linear(D, D))
    rounding = torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
    check(model, e, way, aggregator, max(1e-5, rounding))


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_buffers_are_averaged_in_single_precision(way: str, dtype: torch.dtype) -> None:
    """A running sum of 600 values of 150 would be infinite in float16, and end early in bfloat16."""

    def hundred_and_fifty(self: Any, x: Tensor) -> None:
        self.seen.copy_(torch.full_like(self.seen, 150))

    model = Part(torch.ones(2, dtype=dtype), hundred_and_fifty)
    backward(model, F.cross_entropy, *batch(600), Mean(), way)
    assert torch.equal(model.seen, torch.full_like(model.seen, 150))  # type: ignore[arg-type]


def shared(rule: Any, last: Any, how: str) -> nn.Module:
    """Two modules with one buffer: the same tensor, or another view of its memory."""
    torch.manual_seed(0)
    start = torch.ones(4)
    first = Part(start if how == "the same" else start[:2], rule)
    second = Part(start if how == "the same" else start[1:3], last)
    return nn.Sequential(first, nn.Tanh(), nn.Sequential(second, nn.Linear(D, D)))


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("e", [1, 3])
@pytest.mark.parametrize("rule", [in_place, copied])
def test_a_buffer_of_two_modules_stays_one(way: str, aggregator: Any, e: int, rule: Any) -> None:
    model = shared(rule, copied, "the same")
    check(model, e, way, aggregator, 1e-5)
    assert model[0].seen is model[2][0].seen  # type: ignore[index]


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_a_buffer_of_two_modules_in_environments_of_different_sizes(way: str, aggregator: Any) -> None:
    model = shared(in_place, copied, "the same")
    inputs, targets = batch(3)
    xs, ys = [inputs[0, :2], inputs[1], inputs[2]], [targets[0, :2], targets[1], targets[2]]
    copies = [copy.deepcopy(model) for _ in xs]
    for one, x in zip(copies, xs, strict=True):
        one(x)
    backward(model, F.cross_entropy, xs, ys, aggregator, way)
    mean = torch.stack([next(one.buffers()) for one in copies]).mean(0)
    assert torch.allclose(next(model.buffers()), mean, atol=1e-6)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
@pytest.mark.parametrize("e", [1, 3])
def test_buffers_in_the_same_memory_stay_there_or_are_refused(way: str, aggregator: Any, e: int) -> None:
    model = shared(in_place, copied, "overlapping")
    before = copy.deepcopy(model.state_dict())
    if way == "sequential":
        check(model, e, way, aggregator, 1e-5)
        return
    with pytest.raises(UserError, match=r"seen, which shares its memory with another buffer.*sequential"):
        backward(model, F.cross_entropy, *batch(e), aggregator, way)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_constants_in_the_same_memory_are_no_obstacle(way: str, aggregator: Any) -> None:
    check(shared(lambda self, x: None, lambda self, x: None, "overlapping"), 3, way, aggregator, 1e-5)


@pytest.mark.parametrize(("way", "aggregator"), WAYS)
def test_a_shared_buffer_that_one_module_assigns_anew_is_right_or_refused(way: str, aggregator: Any) -> None:
    model = shared(in_place, anew, "the same")
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(UserError, match=r"0\.seen and 2\.0\.seen are one buffer"):
        backward(model, F.cross_entropy, *batch(3), aggregator, way)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model[0].seen is model[2][0].seen  # type: ignore[index]


class Causal(nn.Module):
    """Attention whose mask is a buffer that no pass changes, beside BatchNorm, whose buffers change."""

    def __init__(self, fill: float) -> None:
        super().__init__()
        self.query, self.norm, self.out = nn.Linear(4, 4), nn.BatchNorm1d(3), nn.Linear(4, 1)
        self.register_buffer("mask", torch.full((3, 3), fill).triu(1))
        self.register_buffer("constant", torch.randn(100, generator=torch.Generator().manual_seed(0)))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.query(x))
        weights = (hidden @ hidden.mT + self.mask).softmax(-1)
        result: Tensor = self.out(weights @ hidden).mean(1) + self.constant.mean()
        return result


@pytest.mark.parametrize("way", ["vectorized", "sequential", "accumulate"])
@pytest.mark.parametrize("fill", [float("-inf"), torch.finfo(torch.float32).min])
def test_a_constant_buffer_stays_the_same_to_the_bit(way: str, fill: float) -> None:
    model = Causal(fill)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    x, y = torch.randn(6, 8, 3, 4), torch.randn(6, 8, 1)
    for _ in range(3):
        model.zero_grad()
        if way == "accumulate":
            with accumulate(AndMask(0.5)) as votes:
                for some_x, some_y in zip(x.split(2), y.split(2), strict=True):
                    votes.backward(model, F.mse_loss, some_x, some_y)
        else:
            backward(model, F.mse_loss, x, y, AndMask(0.5), way)
    assert torch.equal(model.mask, before["mask"]) and torch.equal(model.constant, before["constant"])
    assert not torch.equal(model.norm.running_mean, before["norm.running_mean"])
    assert int(model.norm.num_batches_tracked) == 3
    assert bool(model(x[0]).isfinite().all())
