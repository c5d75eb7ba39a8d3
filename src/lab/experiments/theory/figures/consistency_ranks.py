"""A table: rank correlations of consistency and generalisation over the solutions of each problem."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.solutions import EPSILON, solutions


def tabulate(results: Path) -> pd.DataFrame:
    """Return the Spearman correlation of consistency and test performance over the solutions of a problem."""
    every = solutions(results)
    every = every[every.epsilon == EPSILON]
    rows = []
    for problem, group in every.groupby("problem", sort=False):
        row: dict[str, object] = {"problem": problem, "solutions": int(group.damping.value_counts().iloc[0])}
        for damping, rows_of_damping in group.groupby("damping"):
            for measure, name in (("worst", "worst pair"), ("median", "median pair")):
                row[f"{name}, damping {damping:g}"] = f"{rank_correlation(rows_of_damping, measure):+.2f}"
        rows.append(row)
    return pd.DataFrame(rows)


def rank_correlation(solutions_of_one: pd.DataFrame, measure: str) -> float:
    """Return the Spearman correlation over the solutions of one problem.

    +1 means that more consistent solutions generalise better.
    """
    sense = 1.0 if solutions_of_one.test_name.iloc[0] == "test accuracy" else -1.0
    performance = (sense * solutions_of_one.test).round(6)
    return float(performance.corr(-solutions_of_one[measure], method="spearman"))
