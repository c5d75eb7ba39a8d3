"""A table: how well dissent, opposition and risk find wrong labels, by epoch."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per number of epochs: the mean and range of the areas under the ROC curves over seeds."""
    areas = pd.read_csv(results / "wrong_labels" / "areas.csv")
    exact, drawn = (areas[areas.components == name] for name in ("all", "default"))
    rows = []
    for epochs, group in exact.groupby("epochs"):
        rows.append(
            {
                "epochs": epochs,
                "n": len(group),
                **{name: _mean_and_range(group[name]) for name in ("dissent", "opposition", "risk")},
                "opposition, 256 components": _mean_and_range(drawn[drawn.epochs == epochs].opposition),
            }
        )
    return pd.DataFrame(rows)


def _mean_and_range(values: pd.Series) -> str:
    return f"{values.mean():.2f} ({values.min():.2f} to {values.max():.2f})"
