"""The committed runs of masks over examples, on two problems. The figure and the claims share them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.pending import read_done

RUNS = Path("irm/cue_runs.csv")
THRESHOLD = "aggregator.agreement_threshold"
LABEL_NOISE = "dataset.label_noise"
COWS, COLORED = 0.0, 0.25
"""The label noise that tells the two problems apart: cows and camels, and Colored MNIST."""
PROBLEMS = {
    COWS: "the digit decides, the colour agrees in 80 %",
    COLORED: "Colored MNIST: digit 75 %, colour 85 %",
}
AGREES = {"test": 0.1, "validation": 0.5}
"""The share of the examples of a split in which the colour agrees with the label."""
PASSED_BY_ARITHMETIC = 0.6
"""A cue that agrees in 80 % of the examples passes a mask up to this threshold.

The sum of signs of which 80 % agree, divided by their number, is 0.8 - 0.2 = 0.6."""


def read_cue(results: Path) -> pd.DataFrame:
    """Return a row per finished run."""
    return read_done(results / RUNS)


def digit_alone(label_noise: float) -> float:
    """Return the accuracy of a prediction by the digit that ignores the colour. All splits have the same."""
    return 1 - label_noise
