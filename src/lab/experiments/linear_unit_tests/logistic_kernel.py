"""Kernels in numba: gradients and Hessian products of logistic losses in one pass over the examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ilc.kernels._compiled import prange, run
from ilc.kernels._power_of_two import power_of_two

_AT_ONCE = 512
"""The number of examples that fit into the first-level cache together with their outputs."""
_PARAMETERS = 4
"""The number of parameters that one pass over the outputs takes."""
_ZERO, _ONE = np.float32(0), np.float32(1)
_LOG2_E = np.float32(1 / np.log(2))
_LARGEST = np.float32(126)
"""The largest exponent of a float32 that is used."""
_ROUNDING = np.float32(1.5 * 2**23 + 127)
"""A number whose sum with x has the nearest integer to x, plus 127, in its lowest bits."""
_1, _2, _3, _4, _5, _6 = (np.float32(np.log(2) ** k / np.prod(np.arange(1.0, k + 1))) for k in range(1, 7))
"""The coefficients of the Taylor series of ``2 ** f``."""


def gradient_sums(examples: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum sigmoid(-w z) z``, ``[E, M, P]``: examples z ``[E, P, N]``, weights w ``[E, M, P]``."""
    return _sums(examples, weights, weights[:0])


def hessian_sums(examples: Tensor, weights: Tensor, directions: Tensor) -> Tensor:
    """Return ``sum s (1 - s) (u z) z`` with ``s = sigmoid(-w z)`` and directions u ``[E, M, P]``."""
    return _sums(examples, weights, directions)


def _sums(examples: Tensor, weights: Tensor, directions: Tensor) -> Tensor:
    missing = -weights.shape[2] % _PARAMETERS
    few = [functional.pad(each, (0, missing)) for each in (weights, directions)]
    sums = torch.zeros_like(few[0], memory_format=torch.contiguous_format)
    arrays = [each.contiguous().numpy() for each in (examples, *few, sums)]
    run(_add_up, weights.shape[1] * examples.numel(), *arrays, any_order=True)
    return sums[..., : weights.shape[2]]


def _add_up(examples: Any, weights: Any, directions: Any, sums: Any) -> None:
    for e in prange(len(examples)):
        margins, slopes = np.empty(_AT_ONCE, np.float32), np.empty(_AT_ONCE, np.float32)
        z = examples[e]
        for first in range(0, z.shape[1], _AT_ONCE):
            last = min(first + _AT_ONCE, z.shape[1])
            for model in range(weights.shape[1]):
                _project(z, first, last, weights[e, model], margins)
                _to_probabilities(margins)
                if len(directions):
                    _project(z, first, last, directions[e, model], slopes)
                    for i in range(_AT_ONCE):
                        margins[i] *= (_ONE - margins[i]) * slopes[i]
                _add_weighted(z, first, last, margins, sums[e, model])


def _project(z: Any, first: int, last: int, w: Any, outputs: Any) -> None:
    """Write ``w z`` into ``outputs``; weights beyond the parameters are zero."""
    end, count = z.shape[0] - 1, last - first
    for p in range(0, len(w), _PARAMETERS):
        w0, w1, w2, w3 = w[p], w[p + 1], w[p + 2], w[p + 3]
        z0, z1 = z[p, first:last], z[min(p + 1, end), first:last]
        z2, z3 = z[min(p + 2, end), first:last], z[min(p + 3, end), first:last]
        if p == 0:
            for i in range(count):
                outputs[i] = w0 * z0[i] + w1 * z1[i] + w2 * z2[i] + w3 * z3[i]
        else:
            for i in range(count):
                outputs[i] += w0 * z0[i] + w1 * z1[i] + w2 * z2[i] + w3 * z3[i]


def _to_probabilities(margins: Any) -> None:
    """Replace each margin m by ``sigmoid(-m)``, from ``exp(m) = 2 ** n * 2 ** f`` with an integer n."""
    for i in range(len(margins)):
        exponent = min(max(margins[i] * _LOG2_E, -_LARGEST), _LARGEST)
        rounded = exponent + _ROUNDING
        f = exponent - (rounded - _ROUNDING)
        series = _ONE + f * (_1 + f * (_2 + f * (_3 + f * (_4 + f * (_5 + f * _6)))))
        margins[i] = _ONE / (_ONE + series * power_of_two(rounded))


def _add_weighted(z: Any, first: int, last: int, values: Any, total: Any) -> None:
    """Add ``sum v z`` to ``total``, whose entries beyond the parameters have no meaning."""
    end = z.shape[0] - 1
    for p in range(0, len(total), _PARAMETERS):
        t0 = t1 = t2 = t3 = _ZERO
        z0, z1 = z[p, first:last], z[min(p + 1, end), first:last]
        z2, z3 = z[min(p + 2, end), first:last], z[min(p + 3, end), first:last]
        for i in range(last - first):
            t0 += values[i] * z0[i]
            t1 += values[i] * z1[i]
            t2 += values[i] * z2[i]
            t3 += values[i] * z3[i]
        total[p] += t0
        total[p + 1] += t1
        total[p + 2] += t2
        total[p + 3] += t3
