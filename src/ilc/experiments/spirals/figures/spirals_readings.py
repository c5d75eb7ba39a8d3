"""Figure 7's correlations at initialisation under each reading of what section 3.1 leaves open."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.spirals.correlations import mean_interval
from ilc.experiments.spirals.readings import BATCHES, CORRELATIONS, PUBLISHED_CORRELATION, READINGS

MASKED = 0.75


def tabulate(results: Path) -> pd.DataFrame:
    """A row per reading: mean and interval over the networks, beside the thesis's value."""
    rows = pd.read_csv(results / CORRELATIONS)
    table = []
    for reading in READINGS:
        for batch, examples in BATCHES.items():
            chosen = rows[rows.batch_of == batch]
            for key, value in reading._asdict().items():
                chosen = chosen[chosen[key] == value]
            plain = chosen[chosen.agreement_threshold == 0]
            masked = chosen[chosen.agreement_threshold == MASKED]
            low, high = mean_interval(plain.mechanism_correlation)
            larger = (plain.shortcut_correlation > plain.mechanism_correlation).sum()
            table.append(
                {
                    "0.1 is the shortcuts'": _of_shortcuts(reading.shortcut_variance),
                    "mechanism scaled": "yes" if reading.standardize_mechanism else "no",
                    "revolutions": f"{reading.revolutions:g}",
                    "examples of each environment": f"{examples:,}",
                    "correlation with the mechanism's": f"{plain.mechanism_correlation.mean():.2f} "
                    f"({low:.2f} to {high:.2f})",
                    "as the thesis's": "yes" if low <= PUBLISHED_CORRELATION <= high else "no",
                    "shortcuts' larger": f"{larger} of {len(plain)}",
                    f"mechanism's at threshold {MASKED:g}": f"{masked.mechanism_correlation.mean():.2f}",
                }
            )
    return pd.DataFrame(table)


def _of_shortcuts(variance: float) -> str:
    return {0.1: "variance", 0.01: "standard deviation"}[variance]
