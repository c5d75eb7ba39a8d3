"""The local backward pass of BatchNorm."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ilc.kernels.compiled import prange, run


def normalise_backward(
    x: Tensor, delta: Tensor, mean: Tensor, invstd: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the local backward pass of BatchNorm needs, of ``x`` and ``delta`` ``[E, C, ...]``, contiguous.

    Returns:
        As in ``gradients.shares.batch_norm.Seen``: normalised, passed, ones, normed.
    """
    normalised, passed = torch.empty_like(delta), torch.empty_like(delta)
    ones, normed = delta.new_empty(delta.shape[:2]), delta.new_empty(delta.shape[:2])
    rows = [value.detach().view(*x.shape[:2], -1).numpy() for value in (x, delta, normalised, passed)]
    others = [value.detach().numpy() for value in (mean, invstd, scale, ones, normed)]
    run(_normalise_backward, x.numel(), *rows, *others, any_order=True)
    return normalised, passed, ones, normed


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
