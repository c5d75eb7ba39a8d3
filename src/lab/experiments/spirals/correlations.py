"""The committed table of correlations and the functions that read it, for figure 7 and its claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.style import COLORS

TABLE = Path("spirals/correlations.csv")
SCATTER = Path("spirals/correlations_scatter.csv")
N_ENVIRONMENTS = 16
SETUP = "16 environments, 1,024 examples each, untrained 3 x 256 perceptron (paper's size), 2 revolutions"
# The colours are the paper's: orange for what leads to memorisation, blue for what leads to generalisation.
SIGNALS = {"mechanism": COLORS["and_mask"], "shortcut": COLORS["mean"]}
# The correlation of two or three components is about 1 or -1, whatever their values are.
MIN_COMPONENTS = 20


def read_correlations(results: Path, table: Path = TABLE) -> pd.DataFrame:
    """Return the rows of a table of correlations with enough kept components for a meaningful one."""
    rows = pd.read_csv(results / table)
    return rows[rows.kept_components >= MIN_COMPONENTS]


def in_all_networks(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row per network and a column per threshold.

    Only thresholds at which every network has a value are returned.
    """
    wide = rows.pivot_table(index="seed", columns="agreement_threshold", values=column)
    return wide.dropna(axis=1)
