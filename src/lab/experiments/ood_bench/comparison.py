"""Our accuracies beside the published ones, and the rule that says whether a row agrees.

The rule was written on 25 November 2026, before the first run of the study and without the published numbers.
``TOO_WIDE`` was added a day later, still before the first run. Many rows are compared, and there is no
correction for their number: it would let rows agree that are farther apart.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from lab.experiments.drawn_trials import METHODS, N_TRIALS, RULES, selected
from lab.experiments.ood_bench.results import PUBLISHED, THEIRS, curves, published, runs

MOST = 2.78
"""The largest difference, in standard errors of the difference, with which a row agrees.

This is the 95 % point of Student's distribution with four degrees of freedom: both sides have three trials.
"""
TOO_WIDE = 5.0
"""If ``MOST`` standard errors are more points than this, an agreement says too little."""
FLOOR = 1.0
"""A difference up to one point agrees in any case.

It is two standard errors of an accuracy on the 9,000 images of the test environment.
"""


def compared(results: Path, numbers: Path = PUBLISHED) -> pd.DataFrame:
    """Return a line per row and rule, in per cent.

    ``trials`` counts the finished trials, ``accuracy`` is their mean and ``error`` its standard error, and
    ``in_training`` and ``in_training_error`` are those of the same networks on held-out training data. From
    DomainBed's printed error, which divides by the number of trials, we get theirs with one less. ``apart``
    is the difference to ``published`` in standard errors of the difference. ``verdict`` is ``pending``,
    ``not published``, or a result of ``judged``.
    """
    trials = selected(runs(results), curves(results))
    theirs = published(numbers).set_index(["algorithm", "selection"])
    lines = []
    for key in METHODS:
        name = THEIRS.get(key, "")
        for rule in RULES:
            chosen = trials[(trials.row == key) & (trials.rule == rule)]
            own, in_training = 100 * chosen.accuracy, 100 * chosen.in_training
            known = (name, rule) in theirs.index
            line = {
                "row": key,
                "rule": rule,
                "trials": len(own),
                "accuracy": own.mean(),
                "error": own.sem(),
                "in_training": in_training.mean(),
                "in_training_error": in_training.sem(),
                "published": float(theirs.accuracy[name, rule]) if known else math.nan,
                "published_error": float(theirs.standard_error[name, rule]) if known else math.nan,
            }
            lines.append(line)
    table = pd.DataFrame(lines)
    difference = table.accuracy - table.published
    error = (table.error**2 + table.published_error**2 * N_TRIALS / (N_TRIALS - 1)) ** 0.5
    verdict = pd.Series(map(judged, difference, error), table.index, dtype=object)
    verdict = verdict.mask(table.published.isna(), "not published").mask(table.trials < N_TRIALS, "pending")
    return table.assign(apart=difference / error.where(error > 0), verdict=verdict)


def judged(difference: float, error: float) -> str:
    """Return ``agrees``, ``differs``, or ``open``, for a difference in points and its standard error."""
    if abs(difference) > max(FLOOR, MOST * error):
        return "differs"
    return "open" if abs(difference) > FLOOR and MOST * error > TOO_WIDE else "agrees"


def mean_and_error(mean: float, error: float) -> str:
    """Return a mean and its standard error, such as ``63.5 ± 1.2``. A single trial has no error."""
    return f"{mean:.1f}" if math.isnan(error) else f"{mean:.1f} ± {error:.1f}"
