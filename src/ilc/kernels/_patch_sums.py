"""Sums and signs of each example's gradient for a weight that is applied to patches of the input.

This is the weight of a convolution of images, or of a linear layer with several positions per example: there
a patch is one position.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ilc.kernels._compiled import prange, run
from ilc.kernels._product_tile import add_tile
from ilc.kernels._tile_instructions import LANES

# The numbers of vectors in a run and of rows in a tile are as large as the registers allow.
_MOST_VECTORS, _MOST_ROWS = 3, 8

# Tiles that are worked on at once, so that their sums stay in a core's first-level cache.
_TILES_AT_ONCE = 8

# Numbers of inputs and output gradients that are worked on at once: they stay in the second-level cache.
_NUMBERS_AT_ONCE = 2**17

# A power of two that most numbers of threads divide: threads share the tiles in so many parts.
_SHARES = 16

# Numbers of padded inputs that are held at once.
_INPUTS_AT_ONCE = 2**22


class Window(NamedTuple):
    """How a convolution moves over its input. Each entry is (height, width)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]


def sums_and_signs(x: Tensor, delta: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """The sum over examples of the gradients for the weight, and that of their signs ``[out, kh, kw, in]``.

    The gradient of example i is ``sum over positions of delta_i x_i^T``. All numbers are float32.

    Args:
        x: input ``[N, height, width, in]``, contiguous.
        delta: gradient of the output ``[N, height, width, out]``, contiguous.
        window: the window of the convolution.
    """
    layout = _Layout(x, delta, window)
    total, signs = layout.zeros(), layout.zeros()
    sums = None, None, None, total.numpy(), signs.numpy(), *layout.tiles
    for part, images in layout.padded(x):
        run(_add_patches, layout.work(images), images, delta[part].numpy(), *sums)
    return layout.restored(total), layout.restored(signs)


def corrected_signs(
    x: Tensor, delta: Tensor, window: Window, ones: Tensor, normed: Tensor, sum_normed: Tensor
) -> Tensor:
    """Sum over examples of the signs of ``gradient_i - ones_i S0 - normed_i S1``, ``[out, kh, kw, in]``.

    S0 is the sum over examples and positions of the patches. It is the same for every row.

    Args:
        x: as for ``sums_and_signs``.
        delta: as for ``sums_and_signs``.
        window: as for ``sums_and_signs``.
        ones: ``[N, out]``.
        normed: ``[N, out]``.
        sum_normed: S1 ``[out, kh, kw, in]``.
    """
    layout = _Layout(x, delta, window)
    s0, s1 = x.new_zeros(layout.kh, layout.full), x.new_zeros(layout.n_out, layout.kh, layout.full)
    s1[:, :, : layout.run] = sum_normed.reshape(layout.n_out, layout.kh, layout.run)
    image = x.new_zeros(layout.size)
    run(_sum_of_patches, 0, x.flatten(2).numpy(), delta.numpy(), s0.numpy(), image.numpy(), *layout.steps)
    less, signs = torch.stack([ones, normed], 1), layout.zeros()
    sums = s0.numpy(), s1.numpy(), None, signs.numpy(), *layout.tiles
    for part, images in layout.padded(x):
        run(_add_patches, layout.work(images), images, delta[part].numpy(), less[part].numpy(), *sums)
    return layout.restored(signs)


class _Layout:
    """The sizes of a problem, and how its sums are laid out and divided into tiles.

    Every run of a patch fills whole vectors, so a row of the sums is ``[kh, full]``.
    """

    def __init__(self, x: Tensor, delta: Tensor, window: Window) -> None:
        (n, height, width, channels), self.n_out = x.shape, delta.shape[3]
        (self.kh, self._kw), (down, across) = window.kernel, window.padding
        self._channels, self.run = channels, self._kw * channels
        self.full = -(-self.run // LANES) * LANES
        # The last run ends in the middle of a vector, which reads beyond the run.
        self.size = (height + 2 * down) * (width + 2 * across) * channels + LANES * _MOST_VECTORS
        self.steps = (window.stride[0], window.stride[1], down, across, channels)
        line = (width + 2 * across) * channels
        tiles = _tiles(self.n_out, self.kh, self.full, line)
        few = max(1, _NUMBERS_AT_ONCE // (self.size + delta[0].numel()))
        self.tiles = tiles, few, line * window.stride[0], channels * window.stride[1]
        # Where there are few tiles, threads share the examples, each with sums of its own.
        threads = max(1, min(torch.get_num_threads(), n))
        self._parts = threads if len(tiles) < 4 * threads * _TILES_AT_ONCE else 1

    def padded(self, x: Tensor) -> Iterator[tuple[slice, Any]]:
        """Some examples after others: which they are, and their padded inputs, flat, as an array."""
        few = max(self._parts, min(len(x), _INPUTS_AT_ONCE // self.size))
        images, flat = x.new_zeros(few, self.size).numpy(), x.flatten(2)
        for first in range(0, len(x), few):
            part = slice(first, first + few)
            run(_pad, images.size, flat[part].numpy(), images, *self.steps)
            yield part, images

    def work(self, images: Any) -> int:
        """The number of terms of the sums."""
        return len(images) * self.n_out * self.kh * self.full

    def zeros(self) -> Tensor:
        """Sums of every thread ``[parts, out, kh, full]``."""
        return torch.zeros(self._parts, self.n_out, self.kh, self.full, dtype=torch.float32)

    def restored(self, sums: Tensor) -> Tensor:
        """The sums of all threads ``[out, kh, kw, in]``."""
        whole = sums[0] if self._parts == 1 else sums.sum(0)
        return whole[:, :, : self.run].reshape(self.n_out, self.kh, self._kw, self._channels)


@lru_cache(256)
def _tiles(n_out: int, kh: int, full: int, line: int) -> Any:
    """The tiles of the sums: first row, rows, k of ``kh``, first column, vectors, begin of their run."""
    found, first = [], 0
    while first < n_out:
        left = n_out - first
        high = _MOST_ROWS if left >= _MOST_ROWS else 4 if left >= 4 else 1
        for k in range(kh):
            for at in range(0, full, _MOST_VECTORS * LANES):
                vectors = min(_MOST_VECTORS, (full - at) // LANES)
                found.append((first, high, k, at, vectors, k * line + at))
        first += high
    return torch.tensor(found).numpy()


def _pad(
    x: Any, images: Any, stride_down: int, stride_across: int, down: int, across: int, channels: int
) -> None:
    line = x.shape[2] + 2 * across * channels
    for e in prange(len(x)):
        for i in range(x.shape[1]):
            start = (i + down) * line + across * channels
            images[e, start : start + x.shape[2]] = x[e, i]


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


def _add_patches(
    images: Any, delta: Any, less: Any, s0: Any, s1: Any, totals: Any, signs: Any, tiles: Any, few: int,
    step: int, across: int,
) -> None:  # fmt: skip
    parts, blocks, n = len(signs), -(-len(tiles) // _TILES_AT_ONCE), len(delta)
    shares = 1 if parts > 1 else min(blocks, _SHARES)
    for piece in prange(parts * shares):
        part, share = piece // shares, piece % shares
        last = (part + 1) * n // parts
        for start in range(part * n // parts, last, few):
            for block in range(share * blocks // shares, (share + 1) * blocks // shares):
                for e in range(start, min(last, start + few)):
                    for t in range(block * _TILES_AT_ONCE, min(len(tiles), (block + 1) * _TILES_AT_ONCE)):
                        row, rows, k, column, vectors, begin = tiles[t]
                        place = (part, e, row, k, column, begin, step, across)
                        _tile(rows, vectors, place, delta, images, less, s0, s1, totals, signs)


def _tile(
    rows: int, vectors: int, place: Any, d: Any, x: Any, less: Any, s0: Any, s1: Any, t: Any, s: Any
) -> None:
    if rows == 8:
        if vectors == 3:
            add_tile(8, 3, place, d, x, less, s0, s1, t, s)
        elif vectors == 2:
            add_tile(8, 2, place, d, x, less, s0, s1, t, s)
        else:
            add_tile(8, 1, place, d, x, less, s0, s1, t, s)
    elif rows == 4:
        if vectors == 3:
            add_tile(4, 3, place, d, x, less, s0, s1, t, s)
        elif vectors == 2:
            add_tile(4, 2, place, d, x, less, s0, s1, t, s)
        else:
            add_tile(4, 1, place, d, x, less, s0, s1, t, s)
    elif vectors == 3:
        add_tile(1, 3, place, d, x, less, s0, s1, t, s)
    elif vectors == 2:
        add_tile(1, 2, place, d, x, less, s0, s1, t, s)
    else:
        add_tile(1, 1, place, d, x, less, s0, s1, t, s)
