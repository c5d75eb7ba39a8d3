"""Reading the runs with few and many training levels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import t

from lab.experiments.coinrun.comparison import LEVEL
from lab.experiments.coinrun.trials import UNMASKED

RUNS = "coinrun/number_of_levels_runs.csv"


def read_number_of_levels(results: Path) -> pd.DataFrame:
    """A row per run: ``levels``, and ``method``, a search or ``UNMASKED``, the mask's settings without it."""
    rows = pd.read_csv(results / RUNS)
    method = rows.command.str.extract(r"tuned=searched/coinrun/(\w+)", expand=False)
    off = (method == "temporal_mask") & (rows["aggregator.agreement_threshold"] == 0)
    return rows.assign(levels=rows["dataset.n_environments"], method=method.mask(off, UNMASKED))


def differences(rows: pd.DataFrame, other: str) -> pd.DataFrame:
    """Mask minus ``other`` by number of levels, in nats of test KL; below 0: the mask is better.

    Returns:
        ``mean`` over the seeds' differences; ``low``, ``high``: its 95 % t interval.
    """
    values = rows.pivot(index=["levels", "seed"], columns="method", values="test/kl")
    by_levels = (values["temporal_mask"] - values[other]).groupby("levels")
    mean, half = by_levels.mean(), by_levels.sem() * t.ppf(1 - LEVEL / 2, by_levels.size() - 1)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half})
