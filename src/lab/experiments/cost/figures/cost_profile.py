"""A table: where the time of a plain step and of a step with votes goes, in per cent of the step."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

SHARES = ("products", "votes", "copies", "allocation", "other_operations", "python")


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per network and way."""
    profile = pd.read_csv(results / "cost" / "profile.csv")
    table = profile[["model", "way"]].rename(columns={"model": "network"})
    table["ms"] = [f"{value:.1f}" for value in profile.milliseconds]
    for share in SHARES:
        table[share.replace("_", " ") + ", %"] = [f"{value:.0f}" for value in profile[share]]
    return table
