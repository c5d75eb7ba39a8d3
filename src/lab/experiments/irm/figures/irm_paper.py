"""A table: Colored MNIST by the IRM authors' own protocol with ten restarts, and the published values."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.irm.results import (
    PUBLISHED,
    PUBLISHED_DEVIATIONS,
    ROW_LABELS,
    colored_runs,
    mean_and_deviation,
    pending,
)

NAME = "paper"
PARTS = ("train", "test")


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method: our and their mean and standard deviation over restarts, in per cent."""
    runs = colored_runs(results, name=NAME)
    rows = []
    for name in PUBLISHED:
        chosen = runs[runs.row == name]
        row = {"method": ROW_LABELS[name], "restarts": str(len(chosen))}
        for part, mean, deviation in zip(PARTS, PUBLISHED[name], PUBLISHED_DEVIATIONS[name], strict=True):
            row[f"{part}, here"] = (
                mean_and_deviation(chosen[f"{part}/accuracy"]) if len(chosen) else "pending"
            )
            row[f"{part}, IRM authors"] = f"{100 * mean:.1f} ± {100 * deviation:.1f}"
        rows.append(row)
    unfinished = pending(results, NAME)
    return pd.DataFrame(rows + ([{"method": unfinished}] if unfinished else [])).fillna("")
