"""Sums of products of signs. One bit stands for one sign, so that 32 are counted at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ilc.kernels._compiled import prange, run
from ilc.kernels._population_count import population_count

# Words at once, for 128 examples, so that their counts stay in registers.
_WORDS = 4

# Columns at once, so that their words stay in the first-level cache.
_BLOCK = 1024


def product_of_signs(delta: Tensor, x: Tensor) -> Tensor:
    """``sign(delta)^T sign(x)`` ``[out, in]`` of ``[E, out]`` and ``[E, in]``, exactly.

    NaN counts as zero.
    """
    result = x.new_empty(delta.shape[1], x.shape[1])
    run(_product, result.numel() * -(-len(x) // 32), *_bits(delta), *_bits(x), result.numpy())
    return result


def _bits(values: Tensor) -> tuple[Any, Any]:
    """Bits ``[words, columns]``: which values ``[E, columns]`` are negative, and which are not zero."""
    n_words = -(-len(values) // (32 * _WORDS)) * _WORDS
    negative, clear = (torch.zeros(n_words, values.shape[1], dtype=torch.uint32).numpy() for _ in range(2))
    run(_pack, values.numel(), values.detach().contiguous().numpy(), negative, clear)
    return negative, clear


def _pack(values: Any, negative: Any, clear: Any) -> None:
    word = clear.dtype.type
    for w in prange(len(clear)):
        minus, some = negative[w], clear[w]
        for e in range(32 * w, min(32 * w + 32, len(values))):
            row, bit = values[e], word(e & 31)
            for j in range(len(row)):
                minus[j] |= word(row[j] < 0) << bit
                some[j] |= word((row[j] < 0) | (row[j] > 0)) << bit


def _product(negative_a: Any, clear_a: Any, negative_b: Any, clear_b: Any, result: Any) -> None:
    number = result.dtype.type
    for row in prange(len(result)):
        for first in range(0, result.shape[1], _BLOCK):
            last = min(first + _BLOCK, result.shape[1])
            few = result[row, first:last]
            few[:] = 0
            for w in range(0, len(clear_a), _WORDS):
                c0, c1 = clear_a[w, row], clear_a[w + 1, row]
                c2, c3 = clear_a[w + 2, row], clear_a[w + 3, row]
                s0, s1 = negative_a[w, row], negative_a[w + 1, row]
                s2, s3 = negative_a[w + 2, row], negative_a[w + 3, row]
                d0, d1 = clear_b[w, first:last], clear_b[w + 1, first:last]
                d2, d3 = clear_b[w + 2, first:last], clear_b[w + 3, first:last]
                t0, t1 = negative_b[w, first:last], negative_b[w + 1, first:last]
                t2, t3 = negative_b[w + 2, first:last], negative_b[w + 3, first:last]
                for j in range(len(few)):
                    b0, b1, b2, b3 = c0 & d0[j], c1 & d1[j], c2 & d2[j], c3 & d3[j]
                    both = population_count(b0) + population_count(b1)
                    both += population_count(b2) + population_count(b3)
                    differ = population_count(b0 & (s0 ^ t0[j])) + population_count(b1 & (s1 ^ t1[j]))
                    differ += population_count(b2 & (s2 ^ t2[j])) + population_count(b3 & (s3 ^ t3[j]))
                    few[j] += number(both) - number(2) * number(differ)
