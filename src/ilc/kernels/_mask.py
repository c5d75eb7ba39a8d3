"""The mean of what enough signs agree on, in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ilc.kernels._compiled import prange, run

_BLOCK = 1024


def masked_mean(total: Tensor, sign_sum: Tensor, update: Tensor, required: int, n: int) -> int:
    """Set ``update`` to ``total / n`` where ``|sign_sum| >= required`` and else to zero times that.

    Returns:
        How many were kept. All tensors are flat and contiguous.
    """
    arrays = [value.numpy() for value in (total, sign_sum, update)]
    n_kept = torch.zeros(-(-len(total) // _BLOCK), dtype=torch.int64)
    run(_masked_mean, len(total), *arrays, n_kept.numpy(), required, n, any_order=True)
    return int(n_kept.sum())


def _masked_mean(total: Any, sign_sum: Any, update: Any, n_kept: Any, required: int, n: int) -> None:
    least, number = sign_sum.dtype.type(required), total.dtype.type(n)
    one, none = total.dtype.type(1), total.dtype.type(0)
    for block in prange(len(n_kept)):
        first = block * _BLOCK
        last = min(first + _BLOCK, len(total))
        totals, signs, updates = total[first:last], sign_sum[first:last], update[first:last]
        # Whole numbers, which a short sum in floating point holds exactly and adds up side by side.
        kept = none
        for j in range(len(totals)):
            keep = one if abs(signs[j]) >= least else none
            kept += keep
            # A product rather than a choice, so that a gradient that is not a number stays one.
            updates[j] = totals[j] * keep / number
        n_kept[block] = int(kept)
