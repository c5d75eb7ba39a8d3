"""Sums, signs and masks in one pass over memory, by numba if it is installed.

PyTorch reads a set of gradients once to add them, twice to take their signs and once more to add the signs.
The kernels here read them once and keep the running sums in the cache. They are compiled at their first use,
which takes seconds, and then cached on disk. They are an optional extra, ``pip install 'ilc[kernels]'``.
Without it, or on another device, callers do the same with PyTorch. Tests compare the kernels with PyTorch.
"""
