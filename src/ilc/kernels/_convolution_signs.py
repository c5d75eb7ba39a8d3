"""Signs of each example's gradient for a convolution's weight, added as they are computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ilc.kernels._compiled import prange, run
from ilc.kernels._sign_tile import LANES, add_tile_signs

# The numbers of vectors in a run and of rows in a tile are as large as the registers allow.
_MOST_VECTORS, _MOST_ROWS = 3, 8


class Window(NamedTuple):
    """How a convolution moves over its input. Each entry is (height, width)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]


def convolution_signs(
    x: Tensor, delta: Tensor, window: Window, ones: Tensor, normed: Tensor, sum_normed: Tensor
) -> Tensor:
    """Sum over examples of the signs of ``votes - ones S0 - normed S1``, ``[out, kh, kw, in]``.

    The vote of example i is its gradient for the weight, ``sum over positions of delta_i x_i^T``. All numbers
    are float32. S0 is the sum over examples and positions of the patches. It is the same for every row.

    Args:
        x: input ``[N, height, width, in]``, contiguous.
        delta: gradient of the output ``[N, height, width, out]``, contiguous.
        window: the window of the convolution.
        ones: ``[N, out]``.
        normed: ``[N, out]``.
        sum_normed: S1 ``[out, kh, kw, in]``.
    """
    (n, height, width, channels), n_out = x.shape, delta.shape[3]
    (kh, kw), (down, across) = window.kernel, window.padding
    run_length = kw * channels
    full = -(-run_length // LANES) * LANES
    s1 = x.new_zeros(n_out, kh, full)
    s1[:, :, :run_length] = sum_normed.reshape(n_out, kh, run_length)
    s0 = x.new_zeros(kh, full)
    parts = max(1, min(torch.get_num_threads(), n))
    signs = x.new_zeros(parts, n_out, kh, full)
    # The last run ends in the middle of a vector, which reads beyond the run.
    padded = x.new_zeros(parts, (height + 2 * down) * (width + 2 * across) * channels + LANES * _MOST_VECTORS)
    less = torch.stack([ones, normed], 1)
    arrays = [v.numpy() for v in (x.flatten(2), delta, less, s0, s1, signs, padded)]
    numbers = (window.stride[0], window.stride[1], down, across, channels)
    run(_sum_of_patches, 0, *arrays[:2], s0.numpy(), padded[0].numpy(), *numbers)
    padded[0].zero_()
    run(_convolution_signs, n * n_out * kh * full, *arrays, *numbers)
    return signs.sum(0)[:, :, :run_length].reshape(n_out, kh, kw, channels)


def _sum_of_patches(
    x: Any, delta: Any, result: Any, padded: Any,
    stride_down: int, stride_across: int, down: int, across: int, channels: int,
) -> None:  # fmt: skip
    line = x.shape[2] + 2 * across * channels
    for e in range(len(x)):
        for i in range(x.shape[1]):
            start = (i + down) * line + across * channels
            row, values = padded[start : start + x.shape[2]], x[e, i]
            for j in range(len(row)):
                row[j] += values[j]
    for k in range(len(result)):
        total = result[k]
        for i in range(delta.shape[1]):
            for j in range(delta.shape[2]):
                start = (k + i * stride_down) * line + j * stride_across * channels
                run = padded[start : start + len(total)]
                for lane in range(len(total)):
                    total[lane] += run[lane]


def _convolution_signs(
    x: Any,
    delta: Any,
    less: Any,
    sum_ones: Any,
    sum_normed: Any,
    signs: Any,
    padded: Any,
    stride_down: int,
    stride_across: int,
    down: int,
    across: int,
    channels: int,
) -> None:
    parts, n_out, kh, full = signs.shape
    line = x.shape[2] + 2 * across * channels
    for part in prange(parts):
        image, sign_sum = padded[part], signs[part]
        for e in range(part, len(x), parts):
            for i in range(x.shape[1]):
                start = (i + down) * line + across * channels
                image[start : start + x.shape[2]] = x[e, i]
            first = 0
            while first < n_out:
                rows = min(_MOST_ROWS, n_out - first)
                if rows < _MOST_ROWS:
                    rows = 4 if rows >= 4 else 1
                for k in range(kh):
                    at = 0
                    while at < full:
                        vectors = min(_MOST_VECTORS, (full - at) // LANES)
                        _tile(
                            rows,
                            vectors,
                            delta[e, :, :, first:],
                            image,
                            k * line + at,
                            line * stride_down,
                            channels * stride_across,
                            less[e, :, first:],
                            sum_ones[k, at:],
                            sum_normed[first:, k, at:],
                            sign_sum[first:, k, at:],
                        )
                        at += vectors * LANES
                first += rows


def _tile(
    rows: int,
    vectors: int,
    delta: Any,
    x: Any,
    run: int,
    step: int,
    column: int,
    less: Any,
    s0: Any,
    s1: Any,
    s: Any,
) -> None:
    if rows == 8:
        if vectors == 3:
            add_tile_signs(8, 3, delta, x, run, step, column, less, s0, s1, s)
        elif vectors == 2:
            add_tile_signs(8, 2, delta, x, run, step, column, less, s0, s1, s)
        else:
            add_tile_signs(8, 1, delta, x, run, step, column, less, s0, s1, s)
    elif rows == 4:
        if vectors == 3:
            add_tile_signs(4, 3, delta, x, run, step, column, less, s0, s1, s)
        elif vectors == 2:
            add_tile_signs(4, 2, delta, x, run, step, column, less, s0, s1, s)
        else:
            add_tile_signs(4, 1, delta, x, run, step, column, less, s0, s1, s)
    elif vectors == 3:
        add_tile_signs(1, 3, delta, x, run, step, column, less, s0, s1, s)
    elif vectors == 2:
        add_tile_signs(1, 2, delta, x, run, step, column, less, s0, s1, s)
    else:
        add_tile_signs(1, 1, delta, x, run, step, column, less, s0, s1, s)
