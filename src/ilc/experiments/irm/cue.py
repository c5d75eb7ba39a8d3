"""What the figure and the claims about masks over examples share: the committed runs, in two problems."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RUNS = Path("irm/cue_runs.csv")
THRESHOLD = "aggregator.agreement_threshold"
LABEL_NOISE = "dataset.label_noise"
COWS, DIGITS = 0.0, 0.25
"""Label noise of the two problems: of cows and camels, and of the colored digits."""
PROBLEMS = {
    COWS: "the digit decides, the colour agrees in 80 %",
    DIGITS: "colored digits: digit 75 %, colour 85 %",
}
AGREES = {"test": 0.1, "validation": 0.5}
"""In how many examples of a split the colour agrees with the label."""


def read_cue(results: Path) -> pd.DataFrame:
    """A row per run."""
    return pd.read_csv(results / RUNS)


def digit_alone(label_noise: float) -> float:
    """The accuracy of whoever knows the digit and does not look at the colour, on every split."""
    return 1 - label_noise
