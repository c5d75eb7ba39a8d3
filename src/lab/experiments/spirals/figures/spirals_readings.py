"""A table: the results of section 3.1 in numbers, under each reading of the details that it leaves open."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.reading_outcomes import Outcome, read_outcomes
from lab.figures.mean_interval import mean_interval
from lab.figures.style import median_and_range

WHOSE = {
    "each": "each environment's examples",
    "all": "all environments' examples",
    "own": "each environment's for the AND-mask, all for plain training",
}


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per reading: the three published results, with interval or range, and how many hold."""
    return pd.DataFrame([_row(outcome) for outcome in read_outcomes(results)])


def _row(outcome: Outcome) -> dict[str, str]:
    low, high = mean_interval(outcome.correlations)
    reading = outcome.reading
    correlation = f"{outcome.correlations.mean():.2f} ({low:.2f} to {high:.2f})"
    row = {
        "meaning of the 0.1": of_shortcuts(reading.shortcut_variance),
        "mechanism scaled": "yes" if reading.standardize_mechanism else "no",
        "revolutions": f"{reading.revolutions:g}",
        "batch size counts": WHOSE[outcome.counted],
        "correlation with the mechanism's gradient": correlation,
        "thesis's configuration": median_and_range(outcome.as_published),
        "rescaled": median_and_range(outcome.rescaled),
    }
    row |= {
        f"plain, {size:,}": median_and_range(test) if len(test) else "not run"
        for size, test in outcome.plain.items()
    }
    return row | {"published results": f"{outcome.reproduced} of 3"}


def of_shortcuts(variance: float) -> str:
    """Return what the paper's 0.1 means under this variance, in words."""
    return {0.1: "variance", 0.01: "standard deviation"}[variance]
