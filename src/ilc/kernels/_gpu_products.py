"""Sums of each example's gradient and of its signs on a GPU, by a Triton kernel.

PyTorch for GPUs installs Triton. Without Triton, callers do the same with PyTorch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    import triton.language as tl

_TYPES = (torch.float32, torch.float16, torch.bfloat16)

# Rows and columns of a tile. Its sums and one example's gradient for it stay in registers.
_SIDE = 64

# Where there are fewer tiles than this, programs share the examples, each with sums of its own.
_PROGRAMS = 512


def usable(x: Tensor, delta: Tensor) -> bool:
    """Whether there is a kernel for these values. The choice is printed once."""
    if not (x.is_cuda and x.dtype in _TYPES and delta.dtype in _TYPES):
        return False
    fault = _fault(x.device, x.dtype, delta.dtype)
    _say(f"PyTorch, because {fault}" if fault else "a Triton kernel")
    return fault is None


def sums_and_signs(x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
    """The sum over examples of ``delta_i^T x_i``, and that of the signs, in float32 ``[out, in]``.

    NaN has no sign.

    Args:
        x: ``[E, positions, in]``, with any strides.
        delta: ``[E, positions, out]``, with any strides.
    """
    total, signs = _sums(x, delta, None)
    return total, signs


class Correction(NamedTuple):
    """What is subtracted from each example's gradient before it votes: ``ones_i S0 + normed_i S1``.

    Attributes:
        ones: ``[E, out]``.
        normed: ``[E, out]``.
        sum_ones: S0 ``[in]``, the same for every row.
        sum_normed: S1 ``[out, in]``.
    """

    ones: Tensor
    normed: Tensor
    sum_ones: Tensor
    sum_normed: Tensor


def corrected_signs(x: Tensor, delta: Tensor, correction: Correction) -> Tensor:
    """The sum over examples of the signs of ``delta_i^T x_i`` after the correction, in float32 ``[out, in]``.

    Args:
        x: ``[E, positions, in]``, with any strides.
        delta: ``[E, positions, out]``, with any strides.
        correction: in float32.
    """
    return _sums(x, delta, Correction(*(values.contiguous() for values in correction)))[1]


def _sums(x: Tensor, delta: Tensor, correction: Correction | None) -> tuple[Tensor, Tensor]:
    """The sums of the products, which are left out with a correction, and those of the signs."""
    (n, n_positions, n_in), n_out = x.shape, delta.shape[2]
    tiles = -(-n_out // _SIDE), -(-n_in // _SIDE)
    parts = max(1, min(n, _PROGRAMS // max(1, tiles[0] * tiles[1])))
    total, signs = torch.empty(2, parts, n_out, n_in, dtype=torch.float32, device=x.device)
    # Triton's interpreter, which tests use on a CPU, multiplies bfloat16 wrongly.
    widened = x.dtype != delta.dtype or (x.dtype == torch.bfloat16 and not x.is_cuda)
    with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
        _kernel()[(*tiles, parts)](
            x, delta, total, signs, *(correction or (total,) * 4), n, n_positions, n_in, n_out,
            *x.stride(), *delta.stride(), parts, widened, correction is not None, _SIDE,
            16 if n_positions <= 16 else 32,
        )  # fmt: skip
    return total if correction else total.sum(0), signs.sum(0)


@cache
def _fault(device: torch.device, *types: torch.dtype) -> str | None:
    """Why the kernel cannot be used, or None. It must give the right sums of a few whole numbers."""
    x, delta = (torch.arange(120, device=device).view(2, 20, 3).remainder(m).sub(2) for m in (5, 7))
    terms = delta.double().mT @ x.double()
    try:
        total, signs = sums_and_signs(x.to(types[0]), delta.to(types[1]))
    except Exception as error:  # Triton may be absent, find no compiler or not support the GPU.
        return f"Triton fails here: {type(error).__name__}: {error}".splitlines()[0]
    right = torch.equal(total.double(), terms.sum(0)) and torch.equal(signs.double(), terms.sign().sum(0))
    return None if right else "Triton's products are wrong here"


@cache
def _say(chosen: str) -> None:
    print(f"ilc: sums of products and of their signs on the GPU by {chosen}")


@cache
def _kernel() -> Any:
    """The kernel. Triton is imported here, so that nothing else waits for it or needs it."""
    global tl  # noqa: PLW0603
    import triton
    import triton.language as tl

    return triton.jit(_sum_tile, do_not_specialize=["n", "n_positions", "parts"])


# One program has one tile of the weight and a share of the examples.
def _sum_tile(
    x: tl.tensor, delta: tl.tensor, totals: tl.tensor, signs: tl.tensor,
    ones: tl.tensor, normed: tl.tensor, sum_ones: tl.tensor, sum_normed: tl.tensor,
    n: int, n_positions: int, n_in: int, n_out: int,
    x_example: int, x_position: int, x_column: int, delta_example: int, delta_position: int, delta_row: int,
    parts: int, widened: tl.constexpr, corrected: tl.constexpr,
    side: tl.constexpr, positions_at_once: tl.constexpr,
) -> None:  # fmt: skip
    rows = tl.program_id(0) * side + tl.arange(0, side)[:, None]
    columns = tl.program_id(1) * side + tl.arange(0, side)[None, :]
    part = tl.program_id(2).to(tl.int64)  # So that examples are numbered in 64 bits, too.
    total = tl.full((side, side), 0, tl.float32)
    sign_sum = tl.full((side, side), 0, tl.float32)
    inside = (rows < n_out) & (columns < n_in)
    if corrected:
        s0 = tl.load(sum_ones + columns, columns < n_in, 0)
        s1 = tl.load(sum_normed + rows * n_in + columns, inside, 0)
    for e in range(part * n // parts, (part + 1) * n // parts):
        tile = tl.full((side, side), 0, tl.float32)
        for first in range(0, n_positions, positions_at_once):
            across = first + tl.arange(0, positions_at_once)[None, :]
            down = first + tl.arange(0, positions_at_once)[:, None]
            a = delta + e * delta_example + rows * delta_row + across * delta_position
            b = x + e * x_example + down * x_position + columns * x_column
            d = tl.load(a, (rows < n_out) & (across < n_positions), 0)
            v = tl.load(b, (down < n_positions) & (columns < n_in), 0)
            if widened:
                d, v = d.to(tl.float32), v.to(tl.float32)
            # Without "ieee" a GPU rounds float32 to 11 significant bits (TF32), and signs change.
            tile = tl.dot(d, v, tile, input_precision="ieee")
        if corrected:
            one = tl.load(ones + e * n_out + rows, rows < n_out, 0)
            norm = tl.load(normed + e * n_out + rows, rows < n_out, 0)
            tile -= one * s0 + norm * s1
        else:
            total += tile
        sign_sum += (tile > 0).to(tl.float32) - (tile < 0).to(tl.float32)
    at = (part * n_out + rows) * n_in + columns
    if not corrected:
        tl.store(totals + at, total, inside)
    tl.store(signs + at, sign_sum, inside)
