"""The committed tables of scored solutions, and the functions that read them for figures and claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

SMALL = Path("theory/solutions_small.csv")
PAPER_SIZE = Path("theory/solutions_paper.csv")
EPSILON, DAMPING = 0.01, 0.1
"""The epsilon and the damping of the scores that are reported."""


def solutions(results: Path) -> pd.DataFrame:
    """Return all solutions, with the inconsistency and the median gap in units of epsilon."""
    table = pd.concat([pd.read_csv(results / file) for file in (SMALL, PAPER_SIZE)], ignore_index=True)
    table["worst"] = table.inconsistency / table.epsilon
    table["median"] = table.median_gap / table.epsilon
    return table


def reported(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are scored with the reported epsilon and damping."""
    return table[(table.epsilon == EPSILON) & (table.damping == DAMPING)]
