"""Whether there are kernels, how they are compiled, and their division among threads."""

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

from ilc.kernels.population_count import teach_numba

# Below so many values a second thread costs more than it brings.
_VALUES_PER_THREAD = 2**15


def usable(values: Tensor) -> bool:
    """Whether there are kernels for these; the choice is printed once."""
    return values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64) and installed()


@cache
def installed() -> bool:
    """Whether numba is; printed at the first call."""
    found = find_spec("numba") is not None
    chosen = (
        "numba kernels" if found else "PyTorch; pip install 'ilc[kernels]' makes it faster on this processor"
    )
    print(f"ilc: votes are counted by {chosen}")
    return found


def run(
    kernel: Callable[..., Any], n: int, values_per_item: int, *arrays: Any, any_order: bool = False
) -> list[Any]:
    """Call ``kernel(start, stop, *arrays)`` for all of ``n`` independent items, in PyTorch's threads.

    Args:
        kernel: a plain function that numba can compile.
        n: items.
        values_per_item: how much work one is.
        arrays: numpy's.
        any_order: let the compiler add in another order than written.

    Returns:
        What each part returned.
    """
    function = _compiled(kernel, any_order)
    threads = max(1, min(torch.get_num_threads(), n * values_per_item // _VALUES_PER_THREAD))
    if threads == 1:
        return [function(0, n, *arrays)]
    parts = list(pairwise(n * i // threads for i in range(threads + 1)))
    others = [_pool().submit(function, start, stop, *arrays) for start, stop in parts[1:]]
    return [function(*parts[0], *arrays), *(other.result() for other in others)]


@cache
def _compiled(kernel: Callable[..., Any], any_order: bool) -> Callable[..., Any]:
    from numba import njit

    _teach_once()
    fast: Any = {"reassoc", "contract"} if any_order else False
    compiled: Callable[..., Any] = njit(nogil=True, cache=True, error_model="numpy", fastmath=fast)(kernel)
    return compiled


@cache
def _teach_once() -> None:
    teach_numba()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, torch.get_num_threads() - 1), thread_name_prefix="ilc-kernel")


# A forked process has the pool but none of its threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
