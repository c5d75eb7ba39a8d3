"""Holm's correction, for the comparisons that together decide one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

LEVEL = 0.05
"""The significance level of all comparisons of a verdict together."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the corrected p values, in the same order.

    The smallest of n p values is multiplied by n, the next one by n - 1, and so on. No corrected value is
    above 1 or below that of a smaller p value. If each comparison counts as significant where its corrected p
    value is below a level, the probability that any of them is so by chance is at most this level (S. Holm,
    "A simple sequentially rejective multiple test procedure", 1979).

    Args:
        p_values: n p values of one verdict, which may depend on each other. One that is not a number stays so
            and counts among the n.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    smallest_first = sorted(range(len(p_values)), key=lambda i: (isnan(p_values[i]), p_values[i]))
    for rank, place in enumerate(smallest_first):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = p_values[place] if isnan(p_values[place]) else largest
    return corrected
