"""Does a more consistent score go with better generalisation? Rank correlations per problem."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.theory.solutions import EPSILON, solutions


def tabulate(results: Path) -> pd.DataFrame:
    """Spearman correlation over all solutions of a problem, between consistency and test performance."""
    every = solutions(results)
    every = every[every.epsilon == EPSILON]
    rows = []
    for problem, group in every.groupby("problem", sort=False):
        # Signs such that +1 means: what scores as more consistent generalises better.
        sense = 1.0 if group.test_name.iloc[0] == "test accuracy" else -1.0
        row: dict[str, object] = {"problem": problem, "solutions": int(group.damping.value_counts().iloc[0])}
        for damping, rows_of_damping in group.groupby("damping"):
            performance = (sense * rows_of_damping.test).round(6)
            for measure, name in (("worst", "worst pair"), ("median", "median pair")):
                correlation = performance.corr(-rows_of_damping[measure], method="spearman")
                row[f"{name}, damping {damping:g}"] = f"{correlation:+.2f}"
        rows.append(row)
    return pd.DataFrame(rows)
