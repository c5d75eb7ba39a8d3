"""Kernels against the same sums by PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc.aggregators import AndMask, GradientStatistics
from ilc.gradients import EnvironmentGradients, example_local, example_share, vectorized
from ilc.kernels import _compiled as compiled
from ilc.kernels._population_count import population_count
from ilc.kernels._power_of_two import power_of_two
from ilc.kernels._signs import product_of_signs
from ilc.kernels._votes import add_mixed_signs, add_sums
from lab.models import MLP, FastResNet

pytest.importorskip("numba", reason="the kernels need the extra 'kernels'")


def votes(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Some of them exactly zero, one not a number."""
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    values[values.abs() < 0.3] = 0
    values.view(-1)[5] = torch.nan
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.usefixtures("kernel_threads")
def test_sums_and_signs(dtype: torch.dtype) -> None:
    few = votes(7, 3001, dtype=dtype)
    total, signs = torch.ones(3001, dtype=dtype), torch.ones(3001, dtype=dtype)
    add_sums(few, total, signs)
    torch.testing.assert_close(total, 1 + few.sum(0), equal_nan=True)
    assert torch.equal(signs, 1 + few.sign().sum(0))


@pytest.mark.usefixtures("kernel_threads")
def test_signs_of_what_is_left() -> None:
    few, ones, normed = votes(7, 5, 1100), votes(5, 7).T.contiguous(), votes(7, 5)
    s0, s1, signs = votes(5, 1100), votes(5, 1100).flip(1).contiguous(), torch.ones(5, 1100)
    add_mixed_signs(few, ones, normed, s0, s1, signs)
    left = few - ones[..., None] * s0 - normed[..., None] * s1
    torch.testing.assert_close(signs, 1 + left.sign().sum(0))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 200])
@pytest.mark.usefixtures("kernel_threads")
def test_products_of_signs_are_counted_exactly(n: int) -> None:
    delta, x = votes(n, 7).nan_to_num(), votes(n, 1100).flip(0).contiguous().nan_to_num()
    assert torch.equal(product_of_signs(delta, x), delta.sign().T @ x.sign())


def test_bits_are_counted_in_python_too() -> None:
    assert [population_count(word) for word in (0, 1, 2**32 - 1)] == [0, 1, 32]


def test_powers_are_made_in_python_too() -> None:
    for exponent in (-126, -1, 0, 1, 127):
        assert power_of_two(1.5 * 2**23 + 127 + exponent) == 2.0**exponent


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.usefixtures("kernel_threads")
def test_a_masked_mean_has_the_bits_of_pytorch(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = votes(5, 70, 30, 40)
    statistics = GradientStatistics.zeros(gradients[0]).add_(gradients)
    if turned:  # As the sums of a convolution are.
        statistics.sign_sum = statistics.sign_sum.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    ours = AndMask(0.6).combine(statistics)
    monkeypatch.setattr(compiled, "installed", lambda: False)
    theirs = AndMask(0.6).combine(statistics)
    torch.testing.assert_close(ours.update, theirs.update, rtol=0, atol=0, equal_nan=True)
    assert 0 < theirs.kept_share < 1
    torch.testing.assert_close(ours.kept_share, theirs.kept_share)


WAYS: dict[str, tuple[Callable[..., EnvironmentGradients], Callable[[], Any], int]] = {
    "local": (example_local, lambda: FastResNet(3, 3, width=4), 1),
    "share": (example_share, lambda: FastResNet(3, 3, width=4), 1),
    "signs": (example_local, lambda: torch.nn.Sequential(torch.nn.Flatten(), MLP(768, 3, 32, 2)), 1),
    "environments": (vectorized, lambda: torch.nn.Sequential(torch.nn.Flatten(), MLP(768, 3, 32, 2)), 2),
}


@pytest.mark.parametrize("case", WAYS)
def test_the_votes_of_a_network_are_those_of_pytorch(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    way, make, n = WAYS[case]
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(6, n, 3, 16, 16, generator=random, dtype=torch.float64)
    targets = torch.arange(6 * n).view(6, n) % 3
    model = make().double()
    assert compiled.usable(inputs)
    ours = way(model, F.cross_entropy, inputs, targets).statistics
    monkeypatch.setattr(compiled, "installed", lambda: False)
    theirs = way(model, F.cross_entropy, inputs, targets).statistics
    for name, statistics in ours.items():
        torch.testing.assert_close(statistics.total, theirs[name].total)
        clear = statistics.total.abs() > 1e-9
        assert torch.equal(statistics.sign_sum[clear], theirs[name].sign_sum[clear])
