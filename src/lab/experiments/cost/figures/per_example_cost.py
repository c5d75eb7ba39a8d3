"""A table: the cost of a step with a vote per example in time and memory, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

OF_THE_STUDIES = ("FastResNet 8, BatchNorm", "FastResNet 16, BatchNorm")
"""Networks that were timed with our ways only. They are in the table of floors."""


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per way, with the time and memory of a step for each network.

    Times are multiples of a plain backward pass.
    """
    costs = pd.read_csv(results / "cost" / "gradients.csv")
    costs = costs[(costs.examples == 1) & ~costs.model.isin(OF_THE_STUDIES)]
    table = pd.DataFrame({"way": costs.way.unique()})
    for model in costs.model.unique():
        chosen = costs[costs.model == model].set_index("way").reindex(table.way)
        cells = zip(chosen.times_plain, chosen.step_peak_mb, strict=True)
        table[model] = ["" if pd.isna(time) else f"{time:.2f} x, {memory:.0f} MB" for time, memory in cells]
    return table
