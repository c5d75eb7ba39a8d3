"""The difference of two groups of seeds, alone or in pairs, and the probability of it by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from lab.figures.verdicts import significant


class Difference(NamedTuple):
    """The mean of one group minus that of another.

    Attributes:
        value: the difference.
        p_value: the two-sided p value that there is no difference.
    """

    value: float
    p_value: float


def welch(ours: ArrayLike, others: ArrayLike) -> Difference:
    """Compare two groups of at least two independent values each, whose spreads may differ (Welch's test).

    Two groups without any spread differ if their values do.
    """
    one, other = np.asarray(ours, float), np.asarray(others, float)
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    value, error = float(one.mean() - other.mean()), math.sqrt(sum(parts))
    if error <= 1e-12 * max(abs(one).max(), abs(other).max()):
        return Difference(value, float(math.isclose(one.mean(), other.mean(), rel_tol=1e-9)))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (one, other), strict=True)
    )
    return Difference(value, float(2 * t.sf(abs(value) / error, freedom)))


def paired(differences: ArrayLike) -> Difference:
    """Test the differences of at least two pairs, such as one pair for each seed (a paired t test).

    Differences without any spread differ from 0 if their value does.
    """
    values = np.asarray(differences, float)
    value, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    if error <= 1e-12 * abs(values).max():
        return Difference(value, float(value == 0))
    return Difference(value, float(2 * t.sf(abs(value) / error, len(values) - 1)))


def signs(differences: Sequence[Difference]) -> list[int]:
    """Return the sign of each difference of one claim, or 0 if it is open.

    A difference is open if its p value, corrected for the number of differences (``holm``), is not below the
    level.
    """
    sure = significant([difference.p_value for difference in differences])
    return [
        int(math.copysign(1, difference.value)) if is_sure else 0
        for difference, is_sure in zip(differences, sure, strict=True)
    ]
