"""What the figure and the claims about masks over examples share: the committed runs, in two problems."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.pending import read_done

RUNS = Path("irm/cue_runs.csv")
THRESHOLD = "aggregator.agreement_threshold"
LABEL_NOISE = "dataset.label_noise"
COWS, COLORED = 0.0, 0.25
"""Label noise of the two problems: of cows and camels, and of Colored MNIST."""
PROBLEMS = {
    COWS: "the digit decides, the colour agrees in 80 %",
    COLORED: "Colored MNIST: digit 75 %, colour 85 %",
}
AGREES = {"test": 0.1, "validation": 0.5}
"""In how many examples of a split the colour agrees with the label."""
PASSED_BY_ARITHMETIC = 0.6
"""The sum of signs of which 80 % agree, relative to their number: up to this threshold such a cue is kept."""


def read_cue(results: Path) -> pd.DataFrame:
    """A row per run that is done."""
    return read_done(results / RUNS)


def digit_alone(label_noise: float) -> float:
    """The accuracy of whoever knows the digit and does not look at the colour, on every split."""
    return 1 - label_noise
