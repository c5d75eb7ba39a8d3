"""A table: the cost of a step with a vote per environment, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per way and a column per number of environments and examples; 3 x 256 perceptron."""
    costs = pd.read_csv(results / "cost" / "gradients.csv")
    costs = costs[costs.model == "perceptron 3 x 256"]
    table = pd.DataFrame({"way": costs.way.unique()})
    for (e, n), chosen in costs.groupby(["environments", "examples"]):
        times = chosen.set_index("way").times_plain.reindex(table.way)
        table[f"E = {e}, N = {n}"] = ["" if pd.isna(value) else f"{value:.2f} x" for value in times]
    return table
