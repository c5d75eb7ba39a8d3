"""A table: every method of section 3.1 at every setting that has all its runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import METHODS, PERFECT
from lab.experiments.spirals.settings import WHOLE, settings_of_methods, tests_at, trials_at
from lab.figures.style import median_and_range


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method and two columns per setting.

    They have the test accuracy on new seeds, with the number of perfect seeds, and the perfect trials.
    """
    rows: dict[str, dict[str, str]] = {label: {"method": label} for label in METHODS.values()}
    for setting in settings_of_methods(results):
        where = _alone(setting.with_epochs)
        for (name, label), test in zip(METHODS.items(), tests_at(results, setting).values(), strict=True):
            reached = f"{(test >= PERFECT).sum()} of {len(test)}"
            rows[label][where] = f"{median_and_range(test)}; {reached}"
            if setting != WHOLE:  # Its configurations are of the same trials as those with fewer epochs.
                trials = trials_at(results, setting, name)
                done = trials[trials.state == "COMPLETE"]["test/accuracy"]
                where_searched = f"trials, {_alone(setting.words)}"
                rows[label][where_searched] = f"{(done >= PERFECT).sum()} of {len(done)}"
    return pd.DataFrame(list(rows.values()))


def _alone(words: str) -> str:
    """Return the words of a setting without their preposition."""
    return words.removeprefix("with ").removeprefix("at ")
