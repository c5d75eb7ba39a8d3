"""Which methods drop a colour, by the colour noise of the second environment: settings, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.figures.style import COLORS

VOTES, SCORES = Path("irm/color_votes.csv"), Path("irm/color_scores.csv")
TWO_WEIGHTS = Path("irm/two_weights.csv")

FIRST_NOISE = 0.1
"""The colour noise of the first environment."""
COLORED_MNIST = 0.2
"""The colour noise of the second environment of Colored MNIST."""
SECOND_NOISES = (COLORED_MNIST, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9)
"""Above 0.5 the colour of the second environment says the opposite."""
TEST_NOISE = 0.9
LABEL_NOISE = 0.25

STEPS = 200
STEPS_SEEN = (0, 3, 10, 20, 40, 70, 100, 150, STEPS)


class Method(NamedTuple):
    """A row of the comparison.

    Attributes:
        label: its name in a figure.
        inputs: ``pixels``, two channels of 14 x 14; ``separate``, their sum and difference, which are the
            shape and the colour; or ``gray``, the sum alone.
        color: in figures.
        style: of its line.
        lr: Adam's learning rate.
    """

    label: str
    inputs: str
    color: str
    style: str = "-"
    lr: float = 1e-3


METHODS = {
    "mean": Method("plain training", "pixels", COLORS["mean"]),
    "and_mask": Method("AND-mask", "pixels", COLORS["and_mask"]),
    "and_mask_separate": Method("AND-mask, shape and colour apart", "separate", COLORS["and_mask"], "--"),
    "irm_penalty": Method("IRM", "pixels", COLORS["irm_penalty"], lr=2e-3),
    "grayscale_mean": Method("plain training on grey images", "gray", "#000000", ":"),
}
SWEPT = ("mean", "and_mask", "and_mask_separate")
"""The methods that are trained at every noise. The others are trained on Colored MNIST only."""

EPSILON, DAMPING = 0.01, 0.1
"""The settings of the consistency score; 0.1 is its default for so many parameters."""
ENVIRONMENTS = {"training": "the two training environments", "with_test": "with the test environment"}
"""The environments of a consistency score."""


def read_votes(results: Path, second_noise: float | None = None) -> pd.DataFrame:
    """Return a row per network and evaluated step, of one colour noise or of all."""
    votes = pd.read_csv(results / VOTES)
    if second_noise is None:
        return votes
    chosen: pd.DataFrame = votes[votes.second_noise == second_noise]
    return chosen
