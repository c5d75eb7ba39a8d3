"""What figure 7's two forms and their claims share: the committed table and its reading."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import t

from lab.figures.style import COLORS

TABLE = Path("spirals/correlations.csv")
SCATTER = Path("spirals/correlations_scatter.csv")
N_ENVIRONMENTS = 16
SETUP = "16 environments, 1,024 examples each, untrained 3 x 256 perceptron (paper's size)"
# The paper's orange and blue: what leads to memorisation, what to generalisation.
SIGNALS = {"mechanism": COLORS["and_mask"], "shortcut": COLORS["mean"]}
# The correlation of two or three components is about 1 or -1 whatever they hold.
MIN_COMPONENTS = 20


def read_correlations(results: Path) -> pd.DataFrame:
    """Rows of ``correlations.csv`` with enough kept components for a correlation to mean something."""
    rows = pd.read_csv(results / TABLE)
    return rows[rows.kept_components >= MIN_COMPONENTS]


def mean_interval(values: pd.Series) -> tuple[float, float]:
    """95 % t interval of the mean over networks."""
    margin = t.ppf(0.975, len(values) - 1) * values.std() / len(values) ** 0.5
    return float(values.mean() - margin), float(values.mean() + margin)


def in_all_networks(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row per network and a column per threshold, for the thresholds at which every network counts."""
    wide = rows.pivot_table(index="seed", columns="agreement_threshold", values=column)
    return wide.dropna(axis=1)
