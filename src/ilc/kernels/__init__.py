"""Sums, signs and masks in one pass over memory, by numba where it is installed.

PyTorch reads a set of gradients once to add them, twice to take their signs and once more to add those.
The kernels here read them once and keep the running sums in the cache. Compiled at their first use
(seconds), then cached on disk. They are an optional extra, ``pip install 'ilc[kernels]'``: without it, or on
another device, callers do the same with PyTorch, which is the kernels' oracle in tests.
"""
