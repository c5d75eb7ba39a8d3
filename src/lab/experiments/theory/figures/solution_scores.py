"""A table: the consistency scores of trained solutions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.solutions import EPSILON, reported, solutions
from lab.figures.style import LABELS


def tabulate(results: Path) -> pd.DataFrame:
    """Return median [smallest, largest] over seeds per problem and method, also with damping 0.001."""
    every = solutions(results)
    keys = ["problem", "aggregator", "agreement_threshold"]
    weak = every[(every.damping == 1e-3) & (every.epsilon == EPSILON)].groupby(keys, dropna=False, sort=False)
    rows = []
    for key, group in reported(every).groupby(keys, dropna=False, sort=False):
        problem, aggregator = key[0], str(key[1])
        threshold = group.agreement_threshold.iloc[0]
        rows.append(
            {
                "problem": problem,
                "method": LABELS[aggregator] + ("" if pd.isna(threshold) else f" {threshold:g}"),
                "n": len(group),
                "test": group.test_name.iloc[0].removeprefix("test ") + " " + _range(group.test, "{:.3f}"),
                "train risk": f"{group.train_risk.median():.2g}",
                "inconsistency / ε": _range(group.worst, "{:,.3g}"),
                "median gap / ε": _range(group["median"], "{:,.3g}"),
                "inconsistency / ε, damping 0.001": _range(weak.get_group(key).worst, "{:,.3g}"),
            }
        )
    return pd.DataFrame(rows)


def _range(values: pd.Series[float], form: str) -> str:
    low, middle, high = (form.format(v) for v in (values.min(), values.median(), values.max()))
    return f"{middle} [{low}, {high}]"
