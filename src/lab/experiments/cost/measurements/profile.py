"""Where the time of a step with votes goes, by PyTorch's profiler with one thread.

The product of a vote, its sign and its count are one kernel, so they are one column. The profiler itself
takes time for each operation, and that is in the column of Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from ilc.kernels import _compiled
from lab.experiments.cost.measurements.gradients import prepared
from lab.experiments.cost.ways import PLAIN
from lab.experiments.cost.workloads import WORKLOADS, votes_of
from lab.experiments.measurement import Parts, Tables

PRODUCTS = ("convolution", "mm", "addmm", "bmm", "baddbmm", "mkldnn", "einsum", "linear")
COPIES = ("copy_", "clone", "contiguous", "cat", "stack", "constant_pad_nd", "unfold", "im2col")
ALLOCATION = ("empty", "empty_like", "empty_strided", "resize_", "zeros", "zero_", "fill_", "new_")
KERNEL = "ilc: "


def parts(steps: int | None = None, device: str | None = None) -> Parts:
    """Return the parts of ``cost/profile.csv``: one part per network.

    Args:
        steps: the number of profiled steps of each way (default: 5).
        device: nothing but ``cpu`` is profiled.
    """
    return {
        name.replace(" ", "_"): partial(_measure, name, steps or 5)
        for name in WORKLOADS
        if device in (None, "cpu")
    }


def _measure(name: str, steps: int) -> Tables:
    """Return a row for a plain step and a row for the step with votes."""
    torch.set_num_threads(1)
    n_environments, n_examples = WORKLOADS[name].grid[0]
    rows = []
    for way in (PLAIN, votes_of(n_examples)):
        step = prepared(name, way, n_environments, n_examples, "cpu")
        for _ in range(3):
            step()
        with named_kernels(), profile(activities=[ProfilerActivity.CPU]) as seen:
            began = time.perf_counter()
            for _ in range(steps):
                step()
            whole = time.perf_counter() - began
        spent = dict.fromkeys(("products", "votes", "copies", "allocation", "other_operations"), 0.0)
        for event in seen.key_averages():
            spent[_column(event.key)] += event.self_cpu_time_total / 1e6
        python = max(0.0, whole - sum(spent.values()))
        rows.append(
            {
                "model": name,
                "environments": n_environments,
                "examples": n_examples,
                "way": way,
                "milliseconds": round(1e3 * whole / steps, 2),
                **{
                    key: round(100 * seconds / whole, 1)
                    for key, seconds in (spent | {"python": python}).items()
                },
                "steps": steps,
                "threads": 1,
            }
        )
    return {"cost/profile.csv": pd.DataFrame(rows)}


@contextmanager
def named_kernels() -> Iterator[None]:
    """Inside the block, the profiler sees the kernels of numba by their names."""
    compiled: Callable[..., Any] = _compiled._compiled

    def named(kernel: Any, any_order: bool, parallel: bool) -> Callable[..., Any]:
        function = compiled(kernel, any_order, parallel)

        def call(*arrays: Any) -> None:
            with record_function(KERNEL + kernel.__name__):
                function(*arrays)

        return call

    _compiled._compiled = named  # type: ignore[assignment]
    try:
        yield
    finally:
        _compiled._compiled = compiled  # type: ignore[assignment]


def _column(operation: str) -> str:
    """The column of an operation of the profile."""
    if operation.startswith(KERNEL):
        return "votes"
    name = operation.removeprefix("aten::").lstrip("_")
    for column, kinds in (("copies", COPIES), ("allocation", ALLOCATION)):
        if name in kinds or (column == "allocation" and name.startswith(("empty", "new_"))):
            return column
    return "products" if any(kind in name for kind in PRODUCTS) else "other_operations"
