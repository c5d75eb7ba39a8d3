"""A table: the time of a step with a compiled model, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

HEADS = {"no": "not compiled", "whole": "compiled as a whole", "blocks": "compiled block by block"}


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per way. Times are multiples of a plain pass of the model that is not compiled."""
    costs = pd.read_csv(results / "cost" / "compiled.csv")
    times = costs.pivot_table("times_plain", "way", "compiled", sort=False)
    table = pd.DataFrame({"way": times.index})
    for compiled, head in HEADS.items():
        table[head] = [f"{value:.2f} x" for value in times[compiled]]
    return table
