"""Reading the runs with few and many training levels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import t

RUNS = "coinrun_bc/number_of_levels_runs.csv"
LEVEL = 0.05


def read_number_of_levels(results: Path) -> pd.DataFrame:
    """A row per run, with ``levels`` and the search that its configuration is from in ``method``."""
    rows = pd.read_csv(results / RUNS)
    masked = rows["aggregator.agreement_threshold"] > 0
    method = masked.map({False: "adam", True: "temporal_mask"})
    return rows.assign(levels=rows["dataset.n_environments"], method=method)


def differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Mask minus Adam by number of levels: ``mean`` over seeds, ``low``, ``high`` of its 95 % t interval."""
    values = rows.pivot(index=["levels", "seed"], columns="method", values="test/kl")
    by_levels = (values["temporal_mask"] - values["adam"]).groupby("levels")
    mean, half = by_levels.mean(), by_levels.sem() * t.ppf(1 - LEVEL / 2, by_levels.size() - 1)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half})
