"""Sums over environments are float32 or wider, whatever the type of parameters and risks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ilc.aggregators import (
    AndMask,
    GeometricMean,
    GramAgreement,
    GroupDro,
    Iga,
    LayerAgreement,
    Mean,
    SandMask,
    SignElection,
    VRex,
)
from ilc.gradients import PER_EXAMPLE, WAYS, backward, environment_gradients
from ilc.objectives import Objective

HALVES = (torch.float16, torch.bfloat16)
TYPES = (*HALVES, torch.float32, torch.float64)
VOTING = [way for way in WAYS if way != "pooled"]


def weighing(dtype: torch.dtype) -> nn.Module:
    """The gradient of the weight is the mean input, that of the bias 1."""
    torch.manual_seed(0)
    return nn.Linear(1, 1).to(dtype)


def mean_output(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.mean()


def constant(value: float, e: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return torch.full((e, 1, 1), value, dtype=dtype), torch.zeros(e, 1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("way", "e"),
    # With more, per_example_loss takes minutes: a backward pass for each example, through all of them.
    [(way, e) for way in WAYS for e in (1, 64, 300, 4000) if way != "per_example_loss" or e <= 300],
)
def test_a_gradient_that_is_the_same_everywhere_is_the_mean(way: str, dtype: torch.dtype, e: int) -> None:
    """In bfloat16 a running sum of ones ends at 256, in float16 at 2,048."""
    aggregator = Mean() if way == "pooled" else AndMask(1.0)
    model = weighing(dtype)
    backward(model, mean_output, *constant(1.0, e, dtype), aggregator, way)
    for p in model.parameters():
        assert p.grad is not None and p.grad.dtype == dtype
        assert torch.allclose(p.grad, torch.ones_like(p), rtol=max(1e-4, 2 * torch.finfo(dtype).eps))


@pytest.mark.parametrize("way", VOTING)
@pytest.mark.parametrize("aggregator", [Mean(), AndMask(0.5), GeometricMean(0.5), SignElection()])
def test_a_sum_out_of_the_range_of_the_type_has_a_mean_in_it(way: str, aggregator: Any) -> None:
    model = weighing(torch.float16)
    backward(model, mean_output, *constant(2000.0, 64, torch.float16), aggregator, way)
    for p, wanted in zip(model.parameters(), (2000.0, 1.0), strict=True):
        assert p.grad is not None
        assert torch.allclose(p.grad, torch.full_like(p, wanted), rtol=2e-3)


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", [VRex, Iga, GroupDro, GramAgreement, LayerAgreement])
@pytest.mark.parametrize(("value", "e"), [(1.0, 300), (2000.0, 64)])
def test_aggregators_that_look_at_all_environments_together(
    way: str, dtype: torch.dtype, kind: Any, value: float, e: int
) -> None:
    model = weighing(dtype)
    backward(model, mean_output, *constant(value, e, dtype), kind(0.0), way)
    for p, wanted in zip(model.parameters(), (value, 1.0), strict=True):
        assert p.grad is not None and p.grad.dtype == dtype
        assert torch.allclose(p.grad, torch.full_like(p, wanted), rtol=2e-2)


def test_under_autocast_the_sum_stays_in_range() -> None:
    model = weighing(torch.float32)
    inputs, targets = constant(2000.0, 64, torch.float32)
    for way in ("vectorized", "sequential"):
        for aggregator in (Mean(), AndMask(1.0)):
            with torch.autocast("cpu", dtype=torch.float16):
                backward(model, mean_output, inputs, targets, aggregator, way)
            weight = model.weight.grad
            assert isinstance(weight, Tensor) and torch.allclose(weight, torch.full_like(weight, 2000.0))


def perceptron(dtype: torch.dtype, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 2)).to(dtype)


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.float() - targets).square().mean()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    way=st.sampled_from(VOTING),
    dtype=st.sampled_from(TYPES),
    e=st.integers(1, 40),
    n=st.integers(1, 3),
    scale=st.sampled_from([1.0, 30.0]),
    seed=st.integers(0, 1000),
)
def test_statistics_are_those_of_a_plain_loop_added_in_double_precision(
    way: str, dtype: torch.dtype, e: int, n: int, scale: float, seed: int
) -> None:
    random = torch.Generator().manual_seed(seed)
    n = 1 if way in PER_EXAMPLE else n
    inputs = torch.randn(e, n, 3, generator=random).to(dtype)
    targets = torch.randn(e, n, 2, generator=random) * scale
    model = perceptron(dtype, seed)
    found = environment_gradients(model, squared, inputs, targets, SandMask(), way)
    risks = torch.stack([squared(model(x), y) for x, y in zip(inputs, targets, strict=True)])
    rounding = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(dtype, 1e-5)
    assert found.risks.dtype == risks.dtype
    assert torch.allclose(found.risks, risks, rtol=rounding, atol=rounding)
    for name, p in model.named_parameters():
        rows = torch.stack([torch.autograd.grad(risk, p, retain_graph=True)[0].double() for risk in risks])
        statistics, largest = found.statistics[name], float(rows.abs().max())
        assert statistics.square_sum is not None
        for sums in (statistics.total, statistics.sign_sum, statistics.square_sum):
            assert sums.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert torch.allclose(
            statistics.total.double(), rows.sum(0), rtol=rounding, atol=e * rounding * largest
        )
        squares = rows.square().sum(0)
        # A number that is off by a share of itself has a square that is off by twice this share.
        assert torch.allclose(
            statistics.square_sum.double(), squares, rtol=2 * rounding, atol=2 * e * rounding * largest**2
        )
        # A gradient near zero may round to either side; votes of all others are counted exactly.
        clear = (rows.abs() > rounding * largest).all(0)
        assert torch.equal(statistics.sign_sum.double()[clear], rows.sign().sum(0)[clear])


class HalfBody(nn.Module):
    """A body in half precision below a head in single precision, or the other way round."""

    def __init__(self, body: torch.dtype, head: torch.dtype) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(3, 4).to(body), nn.Linear(4, 1).to(head)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.head(self.body(x.to(self.body.weight.dtype)).to(self.head.weight.dtype))
        return result


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("types", [(a, b) for a in HALVES for b in (torch.float32, torch.float64)])
@pytest.mark.parametrize("swapped", [False, True])
def test_risks_and_penalties_keep_their_own_type(
    way: str, types: tuple[torch.dtype, torch.dtype], swapped: bool
) -> None:
    def large(outputs: Tensor, targets: Tensor) -> Objective:
        risk = outputs.float().mean() * 0 + 1e6 + 1 / 16
        return Objective(risk, risk, risk + 1)

    torch.manual_seed(0)
    model = HalfBody(*reversed(types)) if swapped else HalfBody(*types)
    result = backward(model, large, torch.randn(4, 1, 3), torch.zeros(4, 1), Mean(), way)
    assert result.risks.dtype == result.penalties.dtype == torch.float32
    assert torch.equal(result.risks, torch.full_like(result.risks, 1e6 + 1 / 16))
    assert torch.equal(result.penalties, torch.full_like(result.risks, 1e6 + 1 + 1 / 16))
    assert all(p.grad is not None and p.grad.dtype == p.dtype for p in model.parameters())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_votes_below_a_batch_norm(dtype: torch.dtype, way: str) -> None:
    """What the batch statistics take off a vote is a sum over the batch too."""

    def make(dtype: torch.dtype) -> nn.Module:
        torch.manual_seed(1)
        return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(27, 1)).to(dtype)

    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(24, 1, 2, 5, 5, generator=random) * 40 + 300
    targets = torch.zeros(24, 1)
    normed = [make(t)[:2](inputs.to(t)[:, 0]).double() for t in (dtype, torch.float64)]
    if not torch.allclose(*normed, atol=0.1):
        pytest.skip("this torch's own BatchNorm overflows in half precision on a CPU")
    half, exact = (
        environment_gradients(make(t), squared, inputs.to(t), targets, AndMask(0.5), way)
        for t in (dtype, torch.float64)
    )
    for name, one in exact.statistics.items():
        ours = half.statistics[name]
        assert ours.total.dtype == ours.sign_sum.dtype == torch.float32
        assert bool(ours.total.isfinite().all()) and not bool(ours.sign_sum.isnan().any())
        if name == "3.weight":
            assert torch.allclose(
                ours.total.double(), one.total, rtol=0.1, atol=0.1 * float(one.total.abs().max())
            )


@pytest.mark.parametrize("dtype", HALVES)
def test_stacked_gradients_are_squared_in_single_precision(dtype: torch.dtype) -> None:
    gradients = torch.full((64, 3), 2000.0, dtype=dtype)
    for aggregator in (SandMask(), SignElection(), GeometricMean(0.5), AndMask(1.0), Mean()):
        update = aggregator(gradients)
        assert update.dtype == dtype
        assert torch.allclose(update, gradients[0], rtol=1e-2)
