"""The README's table of what an AND-mask step costs, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def tabulate(results: Path) -> pd.DataFrame:
    """Cost of each way relative to a plain step, a column per batch size."""
    times = pd.read_csv(results / "benchmark" / "gradients_time.csv")
    table = times.pivot(index="way", columns="batch_size", values="times_plain")
    table = table.loc[["plain training", "vectorized", "sequential", "plain loop"]]
    names = {n: f"{n} examples per environment" for n in table.columns}
    return table.rename(columns=names).map("{:.2f} x".format).reset_index()
