"""The masked mean in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ilc.kernels._compiled import prange, run

_BLOCK = 1024


def masked_mean(total: Tensor, sign_sum: Tensor, update: Tensor, required: int, n: int) -> int:
    """Set ``update`` to ``total / n`` where ``|sign_sum| >= required``, and to zero times that elsewhere.

    All tensors are flat and contiguous.

    Returns:
        The number of kept components.
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
        # A short sum of whole numbers is exact in floating point, and vector instructions can add it.
        kept = none
        for j in range(len(totals)):
            keep = one if abs(signs[j]) >= least else none
            kept += keep
            # A product and not a choice, so that NaN stays visible.
            updates[j] = totals[j] * keep / number
        n_kept[block] = int(kept)
