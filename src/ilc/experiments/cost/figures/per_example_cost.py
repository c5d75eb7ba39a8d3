"""What a step with a vote per example costs beside plain training, from one benchmark run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

NORMS = {"batch": "BatchNorm", "group": "GroupNorm"}


def tabulate(results: Path) -> pd.DataFrame:
    """A row per way; time as multiples of a plain step of the same norm, memory of the step in MB."""
    costs = pd.read_csv(results / "benchmark" / "per_example.csv")
    table = pd.DataFrame({"way": costs.way.unique()})
    for norm, label in NORMS.items():
        chosen = costs[costs.norm == norm].set_index("way").reindex(table.way)
        table[f"time, {label}"] = [_or_none(value, "{:.2f} x") for value in chosen.times_plain]
        table[f"memory, {label}"] = [_or_none(value, "{:.0f} MB") for value in chosen.step_peak_mb]
    return table


def _or_none(value: float, form: str) -> str:
    return "" if pd.isna(value) else form.format(value)
