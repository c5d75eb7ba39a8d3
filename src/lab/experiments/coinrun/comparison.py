"""A comparison of how well two methods' best configurations generalise on new seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
from scipy.stats import t

from lab.figures.holm import LEVEL

POWER = 0.8
"""The probability of detecting a true difference of the size ``Comparison.smallest_seen``."""


@dataclass(frozen=True)
class Comparison:
    """The difference of two methods' mean test divergences, in nats; below 0 the first method is better.

    Attributes:
        difference: the mean difference over seeds and levels.
        standard_error: the standard error of the difference, over seeds and levels.
        seeds: S, the number of seeds on which both methods were trained.
        levels: L, the number of test levels.
    """

    difference: float
    standard_error: float
    seeds: int
    levels: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % t interval with S - 1 degrees of freedom, as if all error came from the seeds."""
        half = self._quantile(1 - LEVEL / 2) * self.standard_error
        return self.difference - half, self.difference + half

    @property
    def smallest_seen(self) -> float:
        """The true difference that this comparison would have detected with a probability of 80 %."""
        return (self._quantile(1 - LEVEL / 2) + self._quantile(POWER)) * self.standard_error

    @property
    def p_value(self) -> float:
        """The two-sided p value that there is no difference, from the same t distribution; 1 if none seen."""
        if self.difference == 0:
            return 1.0
        return float(2 * t.sf(abs(self.difference) / self.standard_error, self.seeds - 1))

    def _quantile(self, probability: float) -> float:
        return float(t.ppf(probability, self.seeds - 1))


def compare(rows: pd.DataFrame, method: str, other: str) -> Comparison:
    """Compare two methods on the seeds and levels that both have.

    A seed is a draw of networks and batches, and a level is a draw of test data. Every student plays on every
    level. The variance of the mean is therefore estimated as the variance of the seeds' means divided by S,
    plus the variance of the levels' means divided by L. Variance that belongs to neither seeds nor levels is
    counted in both terms, so the interval is more likely too wide than too narrow.

    Args:
        rows: one row per method, seed and level, with the columns ``method``, ``seed``, ``level`` and
            ``test/kl``.
        method: the first method.
        other: the method to compare it with.

    Returns:
        The mean of the first method minus that of the other.
    """
    values = rows.pivot(index=["seed", "level"], columns="method", values="test/kl")
    differences = (values[method] - values[other]).unstack("level")
    by_seed, by_level = differences.mean(axis="columns"), differences.mean(axis="index")
    variance = by_seed.var() / len(by_seed) + by_level.var() / len(by_level)
    return Comparison(float(by_seed.mean()), math.sqrt(variance), len(by_seed), len(by_level))
