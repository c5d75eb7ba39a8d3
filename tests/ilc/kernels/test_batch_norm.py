"""The local backward pass of BatchNorm, in either layout, against PyTorch's formula."""

from __future__ import annotations

import pytest
import torch

from ilc.kernels._batch_norm import normalise_backward

pytest.importorskip("numba", reason="the kernels need the extra 'kernels'")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 8, 5, 7), (2, 513, 2, 2), (4, 1, 9, 9), (2, 96, 30, 2)])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.usefixtures("kernel_threads")
def test_is_the_formula(dtype: torch.dtype, shape: tuple[int, ...], channels_last: bool) -> None:
    torch.manual_seed(0)
    x, delta = torch.randn(2, *shape, dtype=dtype)
    if channels_last:
        x, delta = (v.permute(0, 2, 3, 1).clone(memory_format=torch.contiguous_format).permute(0, 3, 1, 2)
                    for v in (x, delta))  # fmt: skip
    mean, invstd, scale = torch.randn(3, shape[1], dtype=dtype)
    normalised, passed, ones, normed = normalise_backward(x, delta, mean, invstd, scale)
    by_channel, by_row = (1, -1, 1, 1), (*shape[:2], 1, 1)
    count = x.numel() // shape[1]
    expected = (x - mean.view(by_channel)) * invstd.view(by_channel)
    torch.testing.assert_close(normalised, expected)
    torch.testing.assert_close(ones, delta.sum((2, 3)) / count)
    torch.testing.assert_close(normed, (delta * expected).sum((2, 3)) / count)
    left = delta - ones.view(by_row) - normed.view(by_row) * expected
    torch.testing.assert_close(passed, scale.view(by_channel) * left)
    assert normalised.stride() == passed.stride() == delta.stride()
