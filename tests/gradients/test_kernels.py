"""Kernels against the same sums by PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ilc.gradients import example_local, example_share, kernels
from ilc.models import FastResNet

pytest.importorskip("numba", reason="the kernels need the extra 'kernels'")


@pytest.fixture(params=[1, 2**15])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many threads as PyTorch has, and one."""
    monkeypatch.setattr(kernels, "_VALUES_PER_THREAD", request.param)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def votes(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Some of them exactly zero, one not a number."""
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    values[values.abs() < 0.3] = 0
    values.view(-1)[5] = torch.nan
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.usefixtures("threads")
def test_sums_and_signs(dtype: torch.dtype) -> None:
    few = votes(7, 3001, dtype=dtype)
    total, signs = torch.ones(3001, dtype=dtype), torch.ones(3001, dtype=dtype)
    kernels.add_sums(few, total, signs)
    torch.testing.assert_close(total, 1 + few.sum(0), equal_nan=True)
    assert torch.equal(signs, 1 + few.sign().sum(0))


@pytest.mark.usefixtures("threads")
def test_signs_of_what_is_left() -> None:
    few, ones, normed = votes(7, 5, 1100), votes(5, 7).T.contiguous(), votes(7, 5)
    s0, s1, signs = votes(5, 1100), votes(5, 1100).flip(1).contiguous(), torch.ones(5, 1100)
    kernels.add_mixed_signs(few, ones, normed, s0, s1, signs)
    left = few - ones[..., None] * s0 - normed[..., None] * s1
    torch.testing.assert_close(signs, 1 + left.sign().sum(0))


@pytest.mark.parametrize("way", [example_local, example_share])
def test_the_votes_of_a_network_are_those_of_pytorch(way: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(way)
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(6, 1, 3, 16, 16, generator=random, dtype=torch.float64)
    targets = torch.arange(6)[:, None] % 3
    model = FastResNet(3, 3, width=4).double()
    assert kernels.usable(inputs)
    ours = way(model, F.cross_entropy, inputs, targets).statistics
    monkeypatch.setattr(kernels, "_kernels", lambda: None)
    theirs = way(model, F.cross_entropy, inputs, targets).statistics
    for name, statistics in ours.items():
        torch.testing.assert_close(statistics.total, theirs[name].total)
        clear = statistics.total.abs() > 1e-9
        assert torch.equal(statistics.sign_sum[clear], theirs[name].sign_sum[clear])
