"""A table: the consistency of solutions of IRM's linear example, and what the noise of the data adds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.solutions import DAMPING, EPSILON, solutions
from lab.figures.style import LABELS

PROBLEM = "linear_sem"
WEAK = 1e-3
"""The smaller damping that the table shows too."""


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method with medians over seeds; the score is the inconsistency in units of epsilon."""
    table = solutions(results)
    table = table[(table.problem == PROBLEM) & (table.epsilon == EPSILON)]
    rows = []
    for (aggregator, threshold), group in table.groupby(
        ["aggregator", "agreement_threshold"], dropna=False, sort=False
    ):
        of = {damping: rows_of.median(numeric_only=True) for damping, rows_of in group.groupby("damping")}
        rows.append(
            {
                "method": LABELS[str(aggregator)] + ("" if pd.isna(threshold) else f" {threshold:g}"),
                "n": str(group.seed.nunique()),
                "test risk (s = 0.01)": f"{of[DAMPING].test:.2g}",
                "inconsistency / ε": f"{of[DAMPING].worst:,.0f}",
                "of which difference of the training risks": f"{of[DAMPING].risk_spread / EPSILON:,.0f}",
                f"inconsistency / ε, damping {WEAK:g}": f"{of[WEAK].worst:,.0f}",
            }
        )
    return pd.DataFrame(rows)
