"""Sums and sums of signs in one pass over memory, by numba where it is installed.

PyTorch reads a set of gradients once to add them, twice to take their signs and once more to add those.
The kernels here read them once, keep the running sums in the cache and, for votes under BatchNorm, take
off on the way what batch statistics take off. Compiled at their first use (seconds), then cached on disk.
They are an optional extra, ``pip install 'ilc[kernels]'``:
without it, or on another device, callers do the same with PyTorch, which is the kernels' oracle in tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

# Below so many values a second thread costs more than it brings.
_VALUES_PER_THREAD = 2**15

_BLOCK = 1024


def usable(votes: Tensor) -> bool:
    """Whether there is a kernel for these; the choice is printed once."""
    return (
        votes.device.type == "cpu"
        and votes.dtype in (torch.float32, torch.float64)
        and _kernels() is not None
    )


def add_sums(votes: Tensor, total: Tensor, sign_sum: Tensor) -> None:
    """Add votes ``[few, columns]`` and their signs to flat sums ``[columns]``, all contiguous."""
    kernels = _kernels()
    assert kernels is not None, "usable() said so"
    _divided(kernels[0], votes.shape[1], len(votes), votes.numpy(), total.numpy(), sign_sum.numpy())


def add_mixed_signs(
    votes: Tensor, ones: Tensor, normed: Tensor, sum_ones: Tensor, sum_normed: Tensor, sign_sum: Tensor
) -> None:
    """Add the signs of ``votes - ones S0 - normed S1`` to ``sign_sum [rows, columns]``.

    ``votes`` is ``[few, rows, columns]``, ``ones`` and ``normed`` are ``[few, rows]``, S0 and S1
    ``[rows, columns]``.
    """
    kernels = _kernels()
    assert kernels is not None, "usable() said so"
    arrays = [value.numpy() for value in (votes, ones, normed, sum_ones, sum_normed, sign_sum)]
    _divided(kernels[1], votes.shape[1], len(votes) * votes.shape[2], *arrays)


def normalise_backward(
    x: Tensor, delta: Tensor, mean: Tensor, invstd: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the local backward pass of BatchNorm needs, of ``x`` and ``delta`` ``[E, C, ...]``, contiguous.

    Returns:
        As in ``shares.batch_norm.Seen``: normalised, passed, ones, normed.
    """
    kernels = _kernels()
    assert kernels is not None, "usable() said so"
    normalised, passed = torch.empty_like(delta), torch.empty_like(delta)
    ones, normed = delta.new_empty(delta.shape[:2]), delta.new_empty(delta.shape[:2])
    rows = [value.detach().view(*x.shape[:2], -1).numpy() for value in (x, delta, normalised, passed)]
    others = [value.detach().numpy() for value in (mean, invstd, scale, ones, normed)]
    _divided(kernels[2], len(x), x[0].numel(), *rows, *others)
    return normalised, passed, ones, normed


def _divided(kernel: Callable[..., None], n: int, per_item: int, *arrays: Any) -> None:
    """Divide ``n`` independent items among as many threads as PyTorch uses."""
    threads = max(1, min(torch.get_num_threads(), n * per_item // _VALUES_PER_THREAD))
    parts = list(pairwise(n * i // threads for i in range(threads + 1)))
    others = [_pool().submit(kernel, start, stop, *arrays) for start, stop in parts[1:]]
    kernel(*parts[0], *arrays)
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, torch.get_num_threads() - 1), thread_name_prefix="ilc-kernel")


# A forked process has the pool but none of its threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _kernels() -> tuple[Callable[..., None], ...] | None:
    if find_spec("numba") is None:
        print("ilc: votes are counted by PyTorch; pip install 'ilc[kernels]' is faster")
        return None
    from numba import njit

    print("ilc: votes are counted by numba kernels")
    compiled = njit(nogil=True, cache=True, error_model="numpy")
    reordering = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
    return compiled(_add_sums), compiled(_add_mixed_signs), reordering(_normalise_backward)


def _add_sums(start: int, stop: int, votes: Any, total: Any, sign_sum: Any) -> None:
    one, none = sign_sum.dtype.type(1), sign_sum.dtype.type(0)
    # A block of columns at a time, so that its sums stay in the first cache.
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        totals, signs = total[first:last], sign_sum[first:last]
        for e in range(votes.shape[0]):
            few = votes[e, first:last]
            for j in range(len(few)):
                totals[j] += few[j]
                signs[j] += (one if few[j] > 0 else none) - (one if few[j] < 0 else none)


def _add_mixed_signs(
    start: int, stop: int, votes: Any, ones: Any, normed: Any, sum_ones: Any, sum_normed: Any, sign_sum: Any
) -> None:
    one, none = sign_sum.dtype.type(1), sign_sum.dtype.type(0)
    for row in range(start, stop):
        for first in range(0, votes.shape[2], _BLOCK):
            last = min(first + _BLOCK, votes.shape[2])
            s0, s1, signs = sum_ones[row, first:last], sum_normed[row, first:last], sign_sum[row, first:last]
            for e in range(votes.shape[0]):
                few, a, b = votes[e, row, first:last], ones[e, row], normed[e, row]
                for j in range(len(few)):
                    value = few[j] - a * s0[j] - b * s1[j]
                    signs[j] += (one if value > 0 else none) - (one if value < 0 else none)


def _normalise_backward(
    start: int,
    stop: int,
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
    for e in range(start, stop):
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
