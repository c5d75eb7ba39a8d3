"""A table: by how much each kind of work makes a step with votes longer than a plain step."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.figures.cost_profile import SHARES
from lab.experiments.cost.ways import PLAIN


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per network: what the step with votes takes beyond plain training, in plain steps."""
    profile = pd.read_csv(results / "cost" / "profile.csv")
    rows = []
    for network, steps in profile.groupby("model", sort=False):
        plain = steps[steps.way == PLAIN].iloc[0]
        votes = steps[steps.way != PLAIN].iloc[0]
        row = {"network": network, "whole step": f"{votes.milliseconds / plain.milliseconds:.2f} x"}
        for share in SHARES:
            more = (votes[share] * votes.milliseconds - plain[share] * plain.milliseconds) / 100
            row[share.replace("_", " ")] = f"{more / plain.milliseconds:+.2f}"
        rows.append(row)
    return pd.DataFrame(rows)
