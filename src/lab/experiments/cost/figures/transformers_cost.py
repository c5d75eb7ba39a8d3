"""A table: the cost of a vote per example for models of ``transformers``, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.ways import PLAIN


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per model: the time of each way and, in brackets, its memory, as multiples of plain."""
    costs = pd.read_csv(results / "cost" / "transformers.csv")
    ways = [way for way in costs.way.unique() if way != PLAIN]
    rows = []
    for name, chosen in costs.groupby("model", sort=False):
        by_way = chosen.set_index("way")
        row = {"model": name, "plain, ms": f"{by_way.milliseconds[PLAIN]:.0f}"}
        for way in ways:
            if way in by_way.index:
                memory = by_way.step_peak_mb[way] / by_way.step_peak_mb[PLAIN]
                row[way] = f"{by_way.times_plain[way]:.2f} x ({memory:.1f})"
            else:
                row[way] = ""
        rows.append(row)
    return pd.DataFrame(rows)
