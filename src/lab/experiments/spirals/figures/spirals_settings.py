"""A table: every method of section 3.1 at every setting of revolutions and epochs that has all its runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import METHODS, PERFECT
from lab.experiments.spirals.three_revolutions import WHOLE, settings_of_methods, tests_at, trials_at
from lab.figures.style import median_and_range


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method: test accuracy on new seeds, perfect seeds and perfect trials, by setting."""
    rows: dict[str, dict[str, str]] = {label: {"method": label} for label in METHODS.values()}
    for setting in settings_of_methods(results):
        where = f"{setting.revolutions:g} revolutions, {setting.epochs} epochs"
        for (name, label), test in zip(METHODS.items(), tests_at(results, setting).values(), strict=True):
            reached = f"{(test >= PERFECT).sum()} of {len(test)}"
            rows[label] |= {f"test %, {where}": median_and_range(test), f"seeds at 99 %, {where}": reached}
            if setting != WHOLE:  # Its configurations are of the same trials as those with fewer epochs.
                trials = trials_at(results, setting, name)
                done = trials[trials.state == "COMPLETE"]["test/accuracy"]
                reached = f"{(done >= PERFECT).sum()} of {len(done)}"
                rows[label] |= {f"trials at 99 %, {setting.revolutions:g} revolutions": reached}
    return pd.DataFrame(list(rows.values()))
