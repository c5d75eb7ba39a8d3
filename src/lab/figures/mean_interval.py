"""The 95 % interval of a mean over seeds or networks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """Return the 95 % interval of the mean by Student's t. It is everything for fewer than two values."""
    numbers = np.asarray(values, float)
    n = len(numbers)
    if n < 2:
        return -math.inf, math.inf
    half = float(t.ppf(0.975, n - 1) * numbers.std(ddof=1) / math.sqrt(n))
    return float(numbers.mean()) - half, float(numbers.mean()) + half
