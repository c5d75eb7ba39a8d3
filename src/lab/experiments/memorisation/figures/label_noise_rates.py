"""A table: accuracies under label noise, for every learning rate of the paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.results import curves_of, pending, runs_of
from lab.figures.style import LABELS, median_and_range


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method and learning rate, with median and range over the seeds in per cent."""
    if runs_of(results, "label_noise").empty:
        return pd.DataFrame([{"pending": pending(results, "label_noise")}])
    curves = curves_of(results, "label_noise")
    rows = []
    for (aggregator, lr), chosen in curves.groupby(["aggregator", "optimizer.lr"], sort=True):
        by_seed = chosen.sort_values("epoch").groupby("seed")
        test, wrong = by_seed["test/accuracy"], by_seed["train/accuracy_mislabeled"]
        rows.append(
            {
                "method": LABELS[str(aggregator)],
                "learning rate": f"{lr:g}",
                "seeds": len(by_seed),
                "wrong labels fitted, last epoch": median_and_range(wrong.last()),
                "test, highest": median_and_range(test.max()),
                "test, last epoch": median_and_range(test.last()),
                "test, highest minus last": median_and_range(test.max() - test.last()),
            }
        )
    return pd.DataFrame(rows)
