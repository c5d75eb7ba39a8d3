"""Whether kernels can be used, how they are compiled, and how threads share them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from ilc._extras import install_command
from ilc.kernels import _population_count, _power_of_two, _product_tile

# With fewer values per thread, a second thread costs more than it saves.
_VALUES_PER_THREAD = 2**15


def usable(values: Tensor) -> bool:
    """Whether there are kernels for these values. The choice is printed once."""
    return values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64) and installed()


@cache
def installed() -> bool:
    """Whether numba is installed. The answer is printed at the first call."""
    found = find_spec("numba") is not None
    chosen = (
        "numba kernels compute votes and sums"
        if found
        else "PyTorch computes votes and sums; "
        f"{install_command('kernels')} makes them faster on this processor"
    )
    print(f"ilc: {chosen}")
    return found


def run(kernel: Callable[..., Any], n_values: int, *arrays: Any, any_order: bool = False) -> None:
    """Call ``kernel(*arrays)``, whose outer loop is a ``prange``, in PyTorch's threads.

    Args:
        kernel: a plain function that numba can compile and that returns nothing. Functions of its own module
            that it calls are compiled with it.
        n_values: the number of values that it processes.
        arrays: numpy arrays, numbers, and None for an array that the kernel does without.
        any_order: whether the compiler may add in another order than written.
    """
    threads = max(1, min(torch.get_num_threads(), n_values // _VALUES_PER_THREAD))
    parallel = threads > 1 and _may_share()
    function = _compiled(kernel, any_order, parallel)
    if parallel:
        numba: Any = import_module("numba")
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    function(*arrays)


prange: Any = range
"""A kernel writes ``prange`` for the loop that threads share."""


@cache
def _compiled(kernel: Any, any_order: bool, parallel: bool) -> Callable[..., Any]:
    numba: Any = import_module("numba")
    _teach_once()
    fast: Any = {"reassoc", "contract"} if any_order else False
    # The same function with another ``prange``. numba recognises the object, not the name.
    known = {**kernel.__globals__, "prange": numba.prange if parallel else range}
    options = {"nogil": True, "error_model": "numpy", "fastmath": fast}
    for name in kernel.__code__.co_names:
        called = known.get(name)
        if isinstance(called, FunctionType) and called.__module__ == kernel.__module__:
            known[name] = numba.njit(**options)(called)
    function = FunctionType(kernel.__code__, known, kernel.__name__)
    function.__qualname__ = f"{kernel.__qualname__}.{'parallel' if parallel else 'serial'}"
    compiled: Callable[..., Any] = numba.njit(cache=True, parallel=parallel, **options)(function)
    return compiled


@cache
def _may_share() -> bool:
    """Whether numba can use OpenMP, and with it the same threads as PyTorch.

    PyTorch's threads keep spinning for a while after each call. Other threads on the same cores would wait
    for them: in a measurement, two threads of our own took longer than one.
    """
    if find_spec("numba.np.ufunc.omppool") is None:
        return False
    try:
        import_module("numba.np.ufunc.omppool")
    except ImportError:
        return False
    numba: Any = import_module("numba")
    numba.config.THREADING_LAYER = "omp"
    return True


@cache
def _teach_once() -> None:
    _population_count.teach_numba()
    _power_of_two.teach_numba()
    _product_tile.teach_numba()


def _forget_threads() -> None:
    """Use no threads after a fork: they do not exist there, and OpenMP would end the process."""
    global _may_share  # noqa: PLW0603
    _may_share = cache(lambda: False)


os.register_at_fork(after_in_child=_forget_threads)
