"""A table: the spirals with the first weights and the shortcuts of the authors' code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import PERFECT
from lab.figures.style import LABELS, median_and_range

CELL = ["dataset.n_environments", "dataset.revolutions", "dataset.shortcut_variance"]
PRINTED_ENVIRONMENTS = 16
"""The number of environments in the command that the authors' README prints."""


def read_authors_code(results: Path) -> pd.DataFrame:
    """Read the runs: one row per environments, revolutions, variance, method and seed."""
    return pd.read_csv(results / "spirals" / "authors_code_runs.csv")


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per setting and method: median and range over seeds at the last epoch."""
    rows = []
    for (n_environments, revolutions, variance), cell in read_authors_code(results).groupby(CELL):
        printed = n_environments == PRINTED_ENVIRONMENTS
        for method in ("and_mask", "mean"):
            runs = cell[cell.aggregator == method]
            perfect = (runs["test/accuracy"] >= PERFECT).sum()
            rows.append(
                {
                    "setting": "the printed command" if printed else "the paper's size, our default",
                    "revolutions": f"{revolutions:g}",
                    "shortcuts' variance": f"{variance:g}",
                    "method": LABELS[method],
                    "train %": median_and_range(runs["train/accuracy"]),
                    "test %": median_and_range(runs["test/accuracy"]),
                    "seeds at 99 %": f"{perfect} of {len(runs)}",
                }
            )
    return pd.DataFrame(rows)
