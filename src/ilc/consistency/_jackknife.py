"""An interval of the score over examples, from scores without a part of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scipy import stats
from torch import Tensor

from ilc.gradients._tensor_tree import Values

FEWEST_GROUPS = 3

Environments = Sequence[tuple[Values, Values]]


def groups_of(batches: Environments, most: int) -> int:
    """The number of groups into which the examples of every environment can be divided; 0 if there are few.

    A nest, such as a graph, may have no axis of examples, so that it cannot be divided.
    """
    if not all(isinstance(x, Tensor) and isinstance(y, Tensor) for x, y in batches):
        return 0
    groups = min(most, *(len(x) for x, _ in batches))
    return groups if groups >= FEWEST_GROUPS else 0


def without_group(batches: Environments, group: int, groups: int) -> list[tuple[Values, Values]]:
    """The environments without every k-th of their examples."""

    def rest(values: Values) -> Values:
        return values[[i for i in range(len(values)) if i % groups != group]]

    return [(rest(x), rest(y)) for x, y in batches]


def interval(
    whole: float, inconsistency_without: Callable[[int], float], groups: int, confidence: float
) -> tuple[float, float]:
    """The ends of the interval of an inconsistency, by the delete-a-group jackknife of its logarithm.

    Source: Shao and Tu, The Jackknife and Bootstrap, section 2.3, with Student's t for few groups.

    Args:
        whole: the inconsistency of all examples.
        inconsistency_without: that of all but one group.
        groups: the number of groups, at least 3.
        confidence: between 0 and 1.
    """
    logs = [math.log(inconsistency_without(group)) for group in range(groups)]
    mean = math.fsum(logs) / groups
    error = math.sqrt((groups - 1) / groups * math.fsum((one - mean) ** 2 for one in logs))
    half = float(stats.t.ppf(0.5 + confidence / 2, groups - 1)) * error
    return whole * math.exp(-half), whole * math.exp(half)
