"""The local backward pass of BatchNorm."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

with suppress(ImportError):  # numba, which compiles the kernels below, installs it.
    import numpy as np

from ilc.kernels._compiled import prange, run

_SHORTEST_LOOP = 512


def normalise_backward(
    x: Tensor, delta: Tensor, mean: Tensor, invstd: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute the local backward pass of BatchNorm from ``x`` and ``delta`` ``[E, C, ...]``.

    Both are contiguous, or both are contiguous with the channels last.

    Returns:
        normalised, passed, ones and normed of a ``BatchNormRecord``.
    """
    normalised, passed = torch.empty_like(delta), torch.empty_like(delta)
    ones, normed = delta.new_empty(delta.shape[:2]), delta.new_empty(delta.shape[:2])
    images = (x, delta, normalised, passed)
    if x.is_contiguous():
        rows = [value.detach().view(*x.shape[:2], -1).numpy() for value in images]
        kernel = _normalise_backward
    else:
        rows = [value.detach().movedim(1, -1).flatten(1).numpy() for value in images]
        kernel = _normalise_backward_channels_last
    others = [value.detach().numpy() for value in (mean, invstd, scale, ones, normed)]
    run(kernel, x.numel(), *rows, *others, any_order=True)
    return normalised, passed, ones, normed


def _normalise_backward_channels_last(
    x: Any,
    delta: Any,
    normalised: Any,
    passed: Any,
    mean: Any,
    invstd: Any,
    scale: Any,
    ones: Any,
    normed: Any,
) -> None:
    # Each channel's numbers are repeated, so that loops are long enough to fill the processor's vectors.
    n_channels = ones.shape[1]
    length = -(-_SHORTEST_LOOP // n_channels) * n_channels
    center, width, factor = np.empty(length, x.dtype), np.empty(length, x.dtype), np.empty(length, x.dtype)
    for j in range(length):
        center[j], width[j], factor[j] = mean[j % n_channels], invstd[j % n_channels], scale[j % n_channels]
    count = x.dtype.type(len(x) * (x.shape[1] // n_channels))
    for e in prange(len(x)):
        one, norm = np.zeros(length, x.dtype), np.zeros(length, x.dtype)
        for first in range(0, x.shape[1], length):
            last = min(first + length, x.shape[1])
            xs, deltas, normal = x[e, first:last], delta[e, first:last], normalised[e, first:last]
            for j in range(len(xs)):
                normal[j] = (xs[j] - center[j]) * width[j]
                one[j] += deltas[j]
                norm[j] += deltas[j] * normal[j]
        ones[e], normed[e] = 0, 0
        for j in range(length):
            ones[e, j % n_channels] += one[j] / count
            normed[e, j % n_channels] += norm[j] / count
        for j in range(length):
            one[j], norm[j] = ones[e, j % n_channels], normed[e, j % n_channels]
        for first in range(0, x.shape[1], length):
            last = min(first + length, x.shape[1])
            deltas, normal, down = delta[e, first:last], normalised[e, first:last], passed[e, first:last]
            for j in range(len(deltas)):
                down[j] = factor[j] * (deltas[j] - one[j] - norm[j] * normal[j])


def _normalise_backward(
    x: Any,
    delta: Any,
    normalised: Any,
    passed: Any,
    mean: Any,
    invstd: Any,
    scale: Any,
    ones: Any,
    normed: Any,
) -> None:
    count = x.dtype.type(x.shape[0] * x.shape[2])
    for e in prange(x.shape[0]):
        for c in range(x.shape[1]):
            xs, deltas, normal, down = x[e, c], delta[e, c], normalised[e, c], passed[e, c]
            center, width, factor = mean[c], invstd[c], scale[c]
            one = norm = x.dtype.type(0)
            for j in range(len(xs)):
                normal[j] = (xs[j] - center) * width
                one += deltas[j]
                norm += deltas[j] * normal[j]
            one, norm = one / count, norm / count
            ones[e, c], normed[e, c] = one, norm
            for j in range(len(xs)):
                down[j] = factor * (deltas[j] - one - norm * normal[j])
