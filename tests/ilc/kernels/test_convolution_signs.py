"""Signs of each example's gradient for a convolution, against the gradients written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.grad

from ilc.kernels._convolution_signs import Window, convolution_signs
from ilc.kernels._sign_tile import LANES, add_tile_signs

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
    counted = convolution_signs(
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
    counted = convolution_signs(x, delta, Window((1, 1), (1, 1), (0, 0)), none, none, s1)
    expected = torch.full((8, 1, 1, 2), 3.0)
    expected[5] = 2
    assert torch.equal(counted, expected)


def test_a_tile_in_python_too() -> None:
    rng = np.random.default_rng(0)

    def some(*shape: int) -> Any:
        return rng.integers(-3, 4, shape).astype(np.float32)

    delta, x, less = some(3, 2, 4), some(80), some(2, 4)
    s0, s1, signs = some(2 * LANES), some(4, 2 * LANES), np.ones((4, 2 * LANES), np.float32)
    add_tile_signs(4, 2, delta, x, 3, 11, 5, less, s0, s1, signs)
    runs = np.stack([[x[3 + 11 * i + 5 * j :][: 2 * LANES] for j in range(2)] for i in range(3)])
    votes = np.einsum("ijr,ijl->rl", delta, runs) - less[0][:, None] * s0 - less[1][:, None] * s1
    assert np.array_equal(signs, 1 + np.sign(votes))
