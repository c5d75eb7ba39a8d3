"""A table: accuracies on the spirals and on turned spirals, for masks by component and for other masks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.style import LABELS, median_and_range

METHODS = {
    "mean": LABELS["mean"],
    "and_mask": LABELS["and_mask"],
    "gram_agreement": "AND-mask, principal directions",
    "layer_agreement": "AND-mask, layers' eigenbases",
}
VIEWS = {False: "not turned", True: "turned"}


def tabulate(results: Path) -> pd.DataFrame:
    """Return median and range over seeds per method and threshold, from ``spirals/rotated_runs.csv``."""
    runs = pd.read_csv(results / "spirals" / "rotated_runs.csv")
    # Plain training has no threshold; it counts as 0.
    runs = runs.assign(threshold=runs["aggregator.agreement_threshold"].fillna(0))
    rows = []
    for method, label in METHODS.items():
        for threshold, same in runs[runs.aggregator == method].groupby("threshold"):
            row = {"method": label, "threshold": "" if method == "mean" else f"{threshold:g}"}
            for rotated, view in VIEWS.items():
                here = same[same["dataset.rotated"] == rotated]
                row[f"train, {view}"] = median_and_range(here["train/accuracy"])
                row[f"test, {view}"] = median_and_range(here["test/accuracy"])
            rows.append({**row, "n": str(len(same) // len(VIEWS))})
    return pd.DataFrame(rows)
