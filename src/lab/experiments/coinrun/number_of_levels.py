"""Functions that read the runs with few and many training levels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import t

from lab.experiments.coinrun.trials import UNMASKED
from lab.figures.holm import LEVEL, holm

RUNS = "coinrun/number_of_levels_runs.csv"


def read_number_of_levels(results: Path) -> pd.DataFrame:
    """Return one row per run with ``levels`` and ``method``.

    ``method`` is the name of a search, or ``UNMASKED`` for runs with the mask's settings but without the
    mask.
    """
    rows = pd.read_csv(results / RUNS)
    method = rows.command.str.extract(r"tuned=searched/coinrun/(\w+)", expand=False)
    off = (method == "temporal_mask") & (rows["aggregator.agreement_threshold"] == 0)
    return rows.assign(levels=rows["dataset.n_environments"], method=method.mask(off, UNMASKED))


def differences(rows: pd.DataFrame, other: str) -> pd.DataFrame:
    """Return the mask's test KL minus that of ``other`` for each number of levels, in nats.

    A value below 0 says that the mask is better.

    Returns:
        ``mean``, the mean of the seeds' differences; ``low`` and ``high``, its 95 % t interval; ``p``, the
        two-sided p value of the t test of pairs.
    """
    values = rows.pivot(index=["levels", "seed"], columns="method", values="test/kl")
    by_levels = (values["temporal_mask"] - values[other]).groupby("levels")
    mean, error, freedom = by_levels.mean(), by_levels.sem(), by_levels.size() - 1
    half = error * t.ppf(1 - LEVEL / 2, freedom)
    p_values = 2 * t.sf(mean.abs() / error, freedom)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "p": p_values})


def comparisons(rows: pd.DataFrame) -> pd.DataFrame:
    """Return both differences at each number of levels, with ``other`` and the ``corrected`` p value."""
    both = [differences(rows, other).assign(other=other) for other in ("adam", UNMASKED)]
    table = pd.concat(both).reset_index()
    return table.assign(corrected=holm(table.p.tolist()))
