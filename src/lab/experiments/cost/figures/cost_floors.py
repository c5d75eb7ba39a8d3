"""A table: the cost of a step with votes beside the least that arithmetic allows, for every network."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.ways import PLAIN


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per network and size, with time and memory as multiples of a plain step."""
    floors = pd.read_csv(results / "cost" / "floors.csv")
    costs = pd.read_csv(results / "cost" / "gradients.csv")
    size = ["model", "environments", "examples"]
    table = floors.merge(costs, on=[*size, "way"])
    table = table.merge(costs[costs.way == PLAIN], on=size, suffixes=("", "_of_plain"))
    memory = table.step_peak_mb / table.step_peak_mb_of_plain
    return pd.DataFrame(
        {
            "network": table.model,
            "E x N": [f"{e} x {n}" for e, n in zip(table.environments, table.examples, strict=True)],
            "way": table.way,
            "floor": [f"{value:.2f} x" for value in table.floor],
            "measured": [f"{value:.2f} x" for value in table.times_plain],
            "memory": ["" if pd.isna(value) else f"{value:.2f} x" for value in memory],
        }
    )
