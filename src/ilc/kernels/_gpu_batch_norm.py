"""The local backward pass of BatchNorm on a GPU, by a Triton kernel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ilc.kernels import _gpu_products

if TYPE_CHECKING:
    import triton.language as tl

_AT_ONCE = 1024


def usable(x: Tensor, delta: Tensor) -> bool:
    """Whether there is a kernel for these values."""
    plain = x.dtype == delta.dtype == torch.float32 and x.is_contiguous() and delta.is_contiguous()
    return plain and _gpu_products.usable(x, delta)


def normalise_backward(
    x: Tensor, delta: Tensor, mean: Tensor, invstd: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute the local backward pass of BatchNorm from ``x`` and ``delta`` ``[E, C, ...]``, contiguous.

    Returns:
        normalised, passed, ones and normed of a ``BatchNormRecord``.
    """
    n, n_channels = x.shape[:2]
    normalised, passed = torch.empty_like(delta), torch.empty_like(delta)
    ones, normed = delta.new_empty(n, n_channels), delta.new_empty(n, n_channels)
    size = x[0, 0].numel()
    with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
        _kernel()[(n * n_channels,)](
            x.detach(), delta, mean, invstd, scale, normalised, passed, ones, normed,
            n_channels, size, n * size, min(_AT_ONCE, max(16, 1 << (size - 1).bit_length())),
        )  # fmt: skip
    return normalised, passed, ones, normed


@cache
def _kernel() -> Any:
    """The kernel. Triton is imported here, so that nothing else waits for it or needs it."""
    global tl  # noqa: PLW0603
    import triton
    import triton.language as tl

    return triton.jit(_normalise, do_not_specialize=["count"])


# One program has one channel of one example.
def _normalise(
    x: tl.tensor, delta: tl.tensor, mean: tl.tensor, invstd: tl.tensor, scale: tl.tensor,
    normalised: tl.tensor, passed: tl.tensor, ones: tl.tensor, normed: tl.tensor,
    n_channels: int, size: int, count: int, at_once: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0)
    channel = row % n_channels
    start = row.to(tl.int64) * size
    center, width, factor = tl.load(mean + channel), tl.load(invstd + channel), tl.load(scale + channel)
    one = tl.full((at_once,), 0, tl.float32)
    norm = tl.full((at_once,), 0, tl.float32)
    for first in range(0, size, at_once):
        where = first + tl.arange(0, at_once)
        normal = (tl.load(x + start + where, where < size, 0) - center) * width
        d = tl.load(delta + start + where, where < size, 0)
        tl.store(normalised + start + where, normal, where < size)
        one += d
        norm += d * normal
    of_ones, of_normed = tl.sum(one) / count, tl.sum(norm) / count
    tl.store(ones + row, of_ones)
    tl.store(normed + row, of_normed)
    for first in range(0, size, at_once):
        where = first + tl.arange(0, at_once)
        normal = (tl.load(x + start + where, where < size, 0) - center) * width
        d = tl.load(delta + start + where, where < size, 0)
        tl.store(passed + start + where, factor * (d - of_ones - of_normed * normal), where < size)
