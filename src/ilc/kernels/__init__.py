"""Sums, signs and masks in one pass over memory, by numba on a CPU and by Triton on a GPU.

PyTorch reads a set of gradients once to add them, twice to take their signs and once more to add the signs.
The kernels here read them once and keep the running sums in the cache. They are compiled at their first use,
which takes seconds, and then cached on disk. numba is an optional extra, ``kernels``, and PyTorch for GPUs
installs Triton. Without them callers do the same with PyTorch. Tests compare the kernels with PyTorch.
"""
