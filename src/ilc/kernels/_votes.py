"""Sums of votes and sums of their signs."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ilc.kernels._compiled import prange, run

# Columns at once, so that their sums stay in the first-level cache.
_BLOCK = 1024


def add_sums(votes: Tensor, total: Tensor, sign_sum: Tensor) -> None:
    """Add votes ``[few, columns]`` and their signs to flat sums ``[columns]``, all contiguous."""
    run(_add_sums, votes.numel(), votes.numpy(), total.numpy(), sign_sum.numpy())


def add_mixed_signs(
    votes: Tensor, ones: Tensor, normed: Tensor, sum_ones: Tensor, sum_normed: Tensor, sign_sum: Tensor
) -> None:
    """Add the signs of ``votes - ones S0 - normed S1`` to ``sign_sum [rows, columns]``.

    ``votes`` is ``[few, rows, columns]``, ``ones`` and ``normed`` are ``[few, rows]``, S0 and S1
    ``[rows, columns]``.
    """
    arrays = [value.numpy() for value in (votes, ones, normed, sum_ones, sum_normed, sign_sum)]
    run(_add_mixed_signs, votes.numel(), *arrays)


def _add_sums(votes: Any, total: Any, sign_sum: Any) -> None:
    one, none = sign_sum.dtype.type(1), sign_sum.dtype.type(0)
    for block in prange((len(total) + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        last = min(first + _BLOCK, len(total))
        totals, signs = total[first:last], sign_sum[first:last]
        for e in range(votes.shape[0]):
            few = votes[e, first:last]
            for j in range(len(few)):
                totals[j] += few[j]
                signs[j] += (one if few[j] > 0 else none) - (one if few[j] < 0 else none)


def _add_mixed_signs(
    votes: Any, ones: Any, normed: Any, sum_ones: Any, sum_normed: Any, sign_sum: Any
) -> None:
    one, none = sign_sum.dtype.type(1), sign_sum.dtype.type(0)
    for row in prange(votes.shape[1]):
        for first in range(0, votes.shape[2], _BLOCK):
            last = min(first + _BLOCK, votes.shape[2])
            s0, s1, signs = sum_ones[row, first:last], sum_normed[row, first:last], sign_sum[row, first:last]
            for e in range(votes.shape[0]):
                few, a, b = votes[e, row, first:last], ones[e, row], normed[e, row]
                for j in range(len(few)):
                    value = few[j] - a * s0[j] - b * s1[j]
                    signs[j] += (one if value > 0 else none) - (one if value < 0 else none)
