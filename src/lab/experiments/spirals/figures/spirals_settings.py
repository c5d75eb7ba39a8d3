"""A table: every method of section 3.1 with two revolutions, and with the three of the authors' code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import METHODS, PERFECT
from lab.experiments.spirals.three_revolutions import SETTINGS, tests_at, trials_at
from lab.figures.style import median_and_range


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method: test accuracy on new seeds, perfect seeds and perfect trials, by setting."""
    rows: dict[str, dict[str, str]] = {label: {"method": label} for label in METHODS.values()}
    for setting in SETTINGS:
        where = f"{setting.revolutions:g} revolutions, {setting.epochs} epochs"
        for (name, label), test in zip(METHODS.items(), tests_at(results, setting).values(), strict=True):
            trials = trials_at(results, setting, name)
            done = trials[trials.state == "COMPLETE"]["test/accuracy"]
            rows[label] |= {
                f"test %, {where}": median_and_range(test),
                f"seeds at 99 %, {setting.revolutions:g}": f"{(test >= PERFECT).sum()} of {len(test)}",
                f"trials at 99 %, {setting.revolutions:g}": f"{(done >= PERFECT).sum()} of {len(done)}",
            }
    return pd.DataFrame(list(rows.values()))
