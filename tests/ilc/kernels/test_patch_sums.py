"""Sums and signs of each example's gradient for a convolution, against the gradients written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.grad

from ilc.kernels import _patch_sums
from ilc.kernels._patch_sums import Window, corrected_signs, sums_and_signs
from ilc.kernels._product_tile import add_tile
from ilc.kernels._tile_instructions import LANES

pytest.importorskip("numba", reason="the kernels need the extra 'kernels'")


def whole(*shape: int, most: int = 3) -> torch.Tensor:
    """Small whole numbers, of which every sum is exact in any order."""
    return torch.randint(-most, most + 1, shape, generator=torch.Generator().manual_seed(sum(shape))).float()


@pytest.mark.parametrize("channels", [1, 3, 5, 8, 16])  # Runs of one to three vectors, full or not.
@pytest.mark.parametrize("n_out", [1, 4, 8, 15])  # Tiles of every height.
@pytest.mark.parametrize(
    "window",
    [
        Window((3, 3), (1, 1), (1, 1)),
        Window((3, 3), (2, 2), (0, 1)),
        Window((1, 1), (1, 2), (0, 0)),
        Window((2, 7), (1, 1), (2, 3)),
    ],
)
@pytest.mark.usefixtures("kernel_threads")
def test_whole_numbers_have_the_very_signs(channels: int, n_out: int, window: Window) -> None:
    n, (kh, kw) = 5, window.kernel
    x = whole(n, channels, 8, 9)
    weight = (n_out, channels, kh, kw)
    outputs = torch.nn.functional.conv2d(x, torch.zeros(weight), None, window.stride, window.padding)
    delta = whole(*outputs.shape)
    ones, normed = whole(n, n_out), whole(n_out, n).T.contiguous()
    delta[2], ones[2], normed[2] = 0, 0, 0  # No vote at all.
    s1 = whole(n_out, kh, kw, channels, most=9)
    patches = torch.nn.functional.unfold(x, window.kernel, 1, window.padding, window.stride)
    s0 = patches.sum((0, 2)).view(channels, kh, kw).permute(1, 2, 0)
    counted = corrected_signs(
        x.permute(0, 2, 3, 1).contiguous(),
        delta.permute(0, 2, 3, 1).contiguous(),
        window,
        ones,
        normed,
        s1,
    )
    gradient: Any = torch.nn.grad.conv2d_weight
    pairs = zip(x[:, None], delta[:, None], strict=True)
    votes = torch.stack([gradient(a, weight, b, window.stride, window.padding) for a, b in pairs])
    votes = votes.permute(0, 1, 3, 4, 2)
    each = (n, n_out, 1, 1, 1)
    votes = votes - ones.view(each) * s0 - normed.view(each) * s1
    assert torch.equal(counted, votes.sign().sum(0))


@pytest.mark.usefixtures("kernel_threads")
def test_what_is_not_a_number_has_no_vote() -> None:
    x, delta = torch.ones(3, 4, 4, 2), torch.ones(3, 4, 4, 8)
    delta[1, 0, 0, 5] = torch.nan
    none, s1 = torch.zeros(3, 8), torch.zeros(8, 1, 1, 2)
    counted = corrected_signs(x, delta, Window((1, 1), (1, 1), (0, 0)), none, none, s1)
    expected = torch.full((8, 1, 1, 2), 3.0)
    expected[5] = 2
    assert torch.equal(counted, expected)


def test_a_tile_in_python_too() -> None:
    rng = np.random.default_rng(0)

    def some(*shape: int) -> Any:
        return rng.integers(-3, 4, shape).astype(np.float32)

    delta, x, less = some(2, 3, 2, 5), some(2, 80), some(2, 2, 5)
    s0, s1 = some(2, 3 * LANES), some(5, 2, 3 * LANES)
    total, signs = np.ones((2, 1, 5, 2, 3 * LANES), np.float32)
    add_tile(4, 2, (0, 1, 1, 1, LANES, 3, 11, 5), delta, x, less, s0, s1, total, signs)
    runs = np.stack([[x[1, 3 + 11 * i + 5 * j :][: 2 * LANES] for j in range(2)] for i in range(3)])
    votes = np.einsum("ijr,ijl->rl", delta[1, :, :, 1:], runs)
    taken = less[1, :, 1:, None]
    corrected = votes - taken[0] * s0[1, LANES:] - taken[1] * s1[1:, 1, LANES:]
    assert np.array_equal(total[0, 1:, 1, LANES:], 1 + votes)
    assert np.array_equal(signs[0, 1:, 1, LANES:], 1 + np.sign(corrected))
    assert (total != 1).sum() == (votes != 0).sum() and (signs != 1).sum() == (corrected != 0).sum()


@pytest.mark.parametrize(("channels", "n_out"), [(1, 1), (3, 4), (5, 15), (16, 70)])
@pytest.mark.parametrize("window", [Window((3, 3), (1, 1), (1, 1)), Window((2, 7), (1, 2), (2, 3))])
@pytest.mark.parametrize("few", [2**17, 2**9])  # In the second case examples go in several groups.
@pytest.mark.usefixtures("kernel_threads")
def test_sums_of_whole_numbers_are_exact(
    channels: int, n_out: int, window: Window, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_patch_sums, "_NUMBERS_AT_ONCE", few)
    monkeypatch.setattr(_patch_sums, "_INPUTS_AT_ONCE", 4 * few)
    x, weight = whole(7, channels, 8, 9), (n_out, channels, *window.kernel)
    outputs = torch.nn.functional.conv2d(x, torch.zeros(weight), None, window.stride, window.padding)
    delta = whole(*outputs.shape)
    gradient: Any = torch.nn.grad.conv2d_weight
    pairs = zip(x[:, None], delta[:, None], strict=True)
    terms = torch.stack([gradient(a, weight, b, window.stride, window.padding) for a, b in pairs])
    last = (0, 2, 3, 1)
    total, signs = sums_and_signs(x.permute(last).contiguous(), delta.permute(last).contiguous(), window)
    assert torch.equal(total, terms.sum(0).permute(last))
    assert torch.equal(signs, terms.sign().sum(0).permute(last))


@pytest.mark.parametrize(("positions", "n_in", "n_out"), [(2, 1, 3), (4, 34, 256), (9, 50, 2), (70, 8, 8)])
@pytest.mark.usefixtures("kernel_threads")
def test_a_position_is_an_image_of_one_pixel(positions: int, n_in: int, n_out: int) -> None:
    x, delta = whole(6, 1, positions, n_in), whole(6, 1, positions, n_out)
    total, signs = sums_and_signs(x, delta, Window((1, 1), (1, 1), (0, 0)))
    terms = delta[:, 0].mT @ x[:, 0]
    assert torch.equal(total.view(n_out, n_in), terms.sum(0))
    assert torch.equal(signs.view(n_out, n_in), terms.sign().sum(0))
