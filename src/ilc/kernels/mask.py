"""The mean of what enough signs agree on, in one pass."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ilc.kernels.compiled import run

_BLOCK = 1024


def masked_mean(total: Tensor, sign_sum: Tensor, update: Tensor, required: int, n: int) -> int:
    """Set ``update`` to ``total / n`` where ``|sign_sum| >= required`` and else to zero times that.

    Returns:
        How many were kept. All tensors are flat and contiguous.
    """
    arrays = [value.numpy() for value in (total, sign_sum, update)]
    return sum(run(_masked_mean, len(total), 1, *arrays, required, n, any_order=True))


def _masked_mean(start: int, stop: int, total: Any, sign_sum: Any, update: Any, required: int, n: int) -> int:
    least, number = sign_sum.dtype.type(required), total.dtype.type(n)
    one, none = total.dtype.type(1), total.dtype.type(0)
    n_kept = 0
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        totals, signs, updates = total[first:last], sign_sum[first:last], update[first:last]
        # Whole numbers, which a short sum in floating point holds exactly and adds up side by side.
        kept = none
        for j in range(len(totals)):
            keep = one if abs(signs[j]) >= least else none
            kept += keep
            # A product rather than a choice, so that a gradient that is not a number stays one.
            updates[j] = totals[j] * keep / number
        n_kept += int(kept)
    return n_kept
