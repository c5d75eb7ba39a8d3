"""Whether one method's best configurations generalise better than another's, on new seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
from scipy.stats import t

LEVEL = 0.05
"""Of the interval and of the verdict, two-sided."""
POWER = 0.8
"""With which the smallest difference in sight would be seen."""


@dataclass(frozen=True)
class Comparison:
    """The difference of two methods' mean test divergences, in nats; below 0 the first is better.

    Attributes:
        difference: the mean over seeds and levels.
        standard_error: of the difference, over seeds and levels.
        seeds: S, on which both were trained.
        levels: L, test levels.
    """

    difference: float
    standard_error: float
    seeds: int
    levels: int

    @property
    def interval(self) -> tuple[float, float]:
        """The t interval of 95 % with S - 1 degrees of freedom, as if all error came from the seeds."""
        half = self._quantile(1 - LEVEL / 2) * self.standard_error
        return self.difference - half, self.difference + half

    @property
    def smallest_seen(self) -> float:
        """The size of the true difference that this comparison would have seen with a probability of 80 %."""
        return (self._quantile(1 - LEVEL / 2) + self._quantile(POWER)) * self.standard_error

    @property
    def verdict(self) -> str:
        """``reproduced`` where the interval lies below 0, ``not reproduced`` above, else ``undecided``."""
        low, high = self.interval
        return "reproduced" if high < 0 else "not reproduced" if low > 0 else "undecided"

    def _quantile(self, probability: float) -> float:
        return float(t.ppf(probability, self.seeds - 1))


def compare(rows: pd.DataFrame, method: str, other: str) -> Comparison:
    """Compare two methods on the seeds and levels that both have.

    A seed is a draw of networks and batches, a level one of test data, and every student meets every level:
    the variance of the mean is that of the seeds' means over S plus that of the levels' means over L. What
    belongs to neither is counted in both, so the interval is rather too wide than too narrow.

    Args:
        rows: ``method``, ``seed``, ``level``, ``test/kl``: a row per method, seed and level.
        method: the first.
        other: what it is compared with.

    Returns:
        The first minus the other.
    """
    values = rows.pivot(index=["seed", "level"], columns="method", values="test/kl")
    differences = (values[method] - values[other]).unstack("level")
    by_seed, by_level = differences.mean(axis="columns"), differences.mean(axis="index")
    variance = by_seed.var() / len(by_seed) + by_level.var() / len(by_level)
    return Comparison(float(by_seed.mean()), math.sqrt(variance), len(by_seed), len(by_level))
