"""A table: the time of a step in one process and in two, and the bytes sent, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per way: the time with each number of processes, and the bytes compared with DDP's."""
    costs = pd.read_csv(results / "cost" / "processes.csv")
    table = pd.DataFrame({"way": costs.way.unique()})
    for size in sorted(costs.processes.unique()):
        chosen = costs[costs.processes == size].set_index("way").loc[table.way]
        words = "1 process" if size == 1 else f"{size} processes"
        table[f"ms, {words}"] = [f"{value:.1f}" for value in chosen.milliseconds]
        table[f"x plain, {words}"] = [f"{value:.2f}" for value in chosen.times_plain]
    most = costs[costs.processes == costs.processes.max()].set_index("way").loc[table.way]
    table["bytes, x DDP"] = [f"{value:.3f}" for value in most.times_ddp]
    return table
