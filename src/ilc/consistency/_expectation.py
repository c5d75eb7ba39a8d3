"""Invariant Learning Consistency: the consistency that an algorithm is expected to reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats
from torch import Tensor

from ilc.consistency._derivatives import Loss
from ilc.consistency._score import consistency_score
from ilc.errors import UserError


@dataclass(frozen=True)
class LearningConsistency:
    """Expected consistency over initialisations (paper, equation 3).

    Attributes:
        mean: the average score with the paper's sign (higher is better; the thesis reports its negative).
        low: the lower end of the Student t interval of the mean. Its unit is the initialisation.
        high: the upper end of the interval.
        confidence: the level of the interval.
        scores: the score of every initialisation.
    """

    mean: float
    low: float
    high: float
    confidence: float
    scores: tuple[float, ...]


def invariant_learning_consistency(
    train: Callable[[Tensor], Tensor],
    initialisations: Iterable[Tensor],
    losses: Sequence[Loss],
    epsilon: float,
    method: str = "quadratic",
    confidence: float = 0.95,
    **options: Any,
) -> LearningConsistency:
    """Train from every initialisation and average the consistency of the solutions.

    Args:
        train: the algorithm. It takes initial parameters ``[P]`` and returns the solution ``[P]``.
        initialisations: random initial parameters, at least two.
        losses: the E risks that score the solutions.
        epsilon: as for ``consistency_score``.
        method: as for ``consistency_score``.
        confidence: the level of the interval, between 0 and 1.
        options: as for ``consistency_score``.

    Raises:
        UserError: there are fewer than two initialisations, the confidence is outside (0, 1), or as for
            ``consistency_score``.
    """
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie between 0 and 1, got {confidence!r}")
    scores = [
        consistency_score(losses, train(start), epsilon, method, **options) for start in initialisations
    ]
    n = len(scores)
    if n < 2:
        raise UserError(
            f"initialisations must have at least two entries, because the mean gets an interval, got {n}"
        )
    mean = math.fsum(scores) / n
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (n - 1))
    half = float(stats.t.ppf(0.5 + confidence / 2, n - 1)) * spread / math.sqrt(n)
    return LearningConsistency(mean, mean - half, mean + half, confidence, tuple(scores))
