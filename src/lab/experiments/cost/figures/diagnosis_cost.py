"""A table: the time of a diagnosis as a multiple of a plain pass, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.ways import PLAIN


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per model: the plain pass in milliseconds, and the time of a diagnosis in both ways."""
    costs = pd.read_csv(results / "cost" / "diagnosis.csv")
    rows = []
    for name, chosen in costs.groupby("model", sort=False):
        by_way = chosen.set_index("way")
        rows.append(
            {
                "model": name,
                "examples": by_way.examples[PLAIN],
                "plain pass, ms": f"{by_way.milliseconds[PLAIN]:.1f}",
                f"E = {by_way.environments['vectorized']} environments": (
                    f"{by_way.times_plain['vectorized']:.2f} x"
                ),
                "every example": f"{by_way.times_plain['per_example']:.2f} x",
            }
        )
    return pd.DataFrame(rows)
