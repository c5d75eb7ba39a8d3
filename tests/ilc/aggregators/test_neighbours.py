"""The neighbours that sums over environments will do for, against slow, plain rewritings."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ilc.aggregators import (
    Aggregator,
    AgreementRandom,
    AgreementSum,
    GradDrop,
    GradientStatistics,
    Mean,
    SandMask,
    SignElection,
)
from ilc.errors import UserError

NEIGHBOURS: dict[str, Callable[[], Aggregator]] = {
    "sand_mask": lambda: SandMask(0.5, 0.3),
    "sand_mask_at_its_threshold": lambda: SandMask(0.0, 3.0),
    "sign_election": SignElection,
    "agreement_sum": AgreementSum,
    "agreement_random": lambda: AgreementRandom(3),
    "grad_drop": lambda: GradDrop(3),
}


def sand_mask(rows: Tensor, tau: float, k: float) -> Tensor:
    n = len(rows)
    mask = torch.zeros_like(rows[0])
    for i in range(rows.shape[1]):
        column = rows[:, i]
        mean = sum(column.tolist()) / n
        variance = sum((g - mean) ** 2 for g in column.tolist()) / max(1, n - 1)
        excess = abs(float(column.sign().sum())) / n - tau
        if excess > 0:
            mask[i] = math.tanh(k * excess / variance) if variance > 1e-30 else 1.0
    return rows.mean(0) * mask / (1e-10 + mask.mean())


def sign_election(rows: Tensor) -> Tensor:
    update = torch.zeros_like(rows[0])
    for i in range(rows.shape[1]):
        column = rows[:, i].tolist()
        elected = (sum(column) > 0) - (sum(column) < 0)
        count = sum(1.0 if g * elected > 0 else 0.5 if g == 0 else 0.0 for g in column)
        update[i] = sum(g for g in column if g * elected > 0) / max(1.0, count)
    return update


def agreeing(column: list[float]) -> bool:
    return all(g > 0 for g in column) or all(g < 0 for g in column)


def agreement(rows: Tensor, noise: Tensor | None) -> Tensor:
    keep = [agreeing(rows[:, i].tolist()) for i in range(rows.shape[1])]
    kept = [abs(float(rows[:, i].sum())) for i, yes in enumerate(keep) if yes]
    scale = sum(kept) / len(kept) if kept else 0.0
    update = [
        float(rows[:, i].sum()) if yes else (0.0 if noise is None else float(noise[i]) * scale)
        for i, yes in enumerate(keep)
    ]
    return torch.tensor(update, dtype=rows.dtype)


def grad_drop(rows: Tensor, draws: Tensor) -> Tensor:
    update = torch.zeros_like(rows[0])
    for i in range(rows.shape[1]):
        column = rows[:, i].tolist()
        size = sum(abs(g) for g in column)
        purity = 0.5 * (1 + sum(column) / size) if size else 0.5
        positive = purity > float(draws[i])
        update[i] = sum(g for g in column if (g > 0) == positive) / len(column)
    return update


# Halves and quarters, so that sums of squares are exact and equal gradients have no variance.
components = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
matrices = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(components, min_size=6, max_size=6), min_size=n, max_size=n)
)


@given(matrices)
def test_every_neighbour_matches_its_definition(rows: list[list[float]]) -> None:
    gradients = torch.tensor(rows, dtype=torch.float64)
    draws = torch.Generator().manual_seed(3)
    uniform = torch.rand(6, generator=draws)
    draws.manual_seed(3)
    normal = torch.randn(6, generator=draws)
    for aggregator, expected in (
        (SandMask(0.5, 0.3), sand_mask(gradients, 0.5, 0.3)),
        (SandMask(0.0, 3.0), sand_mask(gradients, 0.0, 3.0)),
        (SignElection(), sign_election(gradients)),
        (AgreementSum(), agreement(gradients, None)),
        (AgreementRandom(3), agreement(gradients, normal)),
        (GradDrop(3), grad_drop(gradients, uniform)),
    ):
        torch.testing.assert_close(aggregator(gradients), expected)


@given(matrices)
def test_order_of_environments_does_not_matter(rows: list[list[float]]) -> None:
    gradients = torch.tensor(rows, dtype=torch.float64)
    for make in NEIGHBOURS.values():
        torch.testing.assert_close(make()(gradients.flip(0)), make()(gradients))


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_broken_gradient_stays_visible(name: str, broken: float) -> None:
    gradients = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    gradients[0, 0] = broken
    assert not NEIGHBOURS[name]()(gradients)[0].isfinite()


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_all_zeros_give_zeros(name: str) -> None:
    assert torch.equal(NEIGHBOURS[name]()(torch.zeros(4, 3, 2)), torch.zeros(3, 2))


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_equal_gradients_give_themselves(name: str) -> None:
    """But for the two that add up rather than average."""
    gradient = torch.tensor([1.0, -2.0, 0.5])
    factor = 4 if name.startswith("agreement") else 1
    torch.testing.assert_close(NEIGHBOURS[name]()(gradient.expand(4, -1)), factor * gradient)


def test_rounding_of_a_variance_of_zero_drops_nothing_from_the_sand_mask() -> None:
    """The variance is a difference of sums of squares. Rounding makes it negative for some of these."""
    torch.manual_seed(0)
    gradient = torch.randn(200)
    torch.testing.assert_close(SandMask()(gradient.expand(7, -1)), gradient)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_factor_on_all_gradients_is_one_on_the_update_if_it_says_so(name: str) -> None:
    torch.manual_seed(0)
    gradients = torch.randn(5, 200)
    plain = NEIGHBOURS[name]()(gradients)
    for factor in (2.0**-60, 2.0**60):
        found = NEIGHBOURS[name]()(gradients * factor)
        same = torch.allclose(found, plain * factor, rtol=1e-5, atol=0)
        assert same == NEIGHBOURS[name]().follows_scale


def test_full_disagreement_is_zero_but_for_what_draws() -> None:
    gradients = torch.tensor([[1.0, -2.0], [-1.0, 2.0]])
    for make in (SandMask, SignElection, AgreementSum, AgreementRandom):
        assert not make()(gradients).any()
    assert torch.equal(GradDrop()(gradients).abs(), torch.tensor([0.5, 1.0]))


def test_sums_on_request_are_gathered_for_those_that_ask() -> None:
    gradients = torch.randn(5, 7)
    expected = {"square_sum": gradients.square().sum(0), "magnitude_sum": gradients.abs().sum(0)}
    assert not GradientStatistics.zeros(gradients[0], Mean().sums_on_request).add_(gradients).requested
    for aggregator, name in ((SandMask(), "square_sum"), (GradDrop(), "magnitude_sum")):
        assert aggregator.sums_on_request == (name,)
        statistics = GradientStatistics.zeros(gradients[0], (name,)).add_(gradients[:2]).add_(gradients[2:])
        assert statistics.requested.keys() == {name}
        torch.testing.assert_close(statistics.requested[name], expected[name])


def test_mean_over_draws_of_grad_drop() -> None:
    """P times the positive part plus 1 - P times the negative one."""
    aggregator, gradients = GradDrop(0), torch.tensor([[3.0], [-1.0]]).expand(-1, 20_000)
    found = aggregator(gradients)
    assert set(found.tolist()) == {1.5, -0.5}
    assert float(found.mean()) == pytest.approx(0.75 * 1.5 - 0.25 * 0.5, abs=0.02)


@pytest.mark.parametrize("kind", [GradDrop, AgreementRandom])
def test_draws_continue_where_they_were(kind: type[GradDrop | AgreementRandom]) -> None:
    gradients = torch.randn(3, 40)
    whole, again, other = kind(1), kind(2), kind(2)
    whole(gradients)
    again.load_state_dict(whole.state_dict())
    assert torch.equal(again(gradients), whole(gradients))
    assert not torch.equal(other(gradients), kind(1)(gradients))


@pytest.mark.parametrize("steepness", [0.0, -1.0, math.inf, math.nan])
def test_a_steepness_out_of_range_is_refused(steepness: float) -> None:
    with pytest.raises(UserError, match="steepness"):
        SandMask(0.5, steepness)
