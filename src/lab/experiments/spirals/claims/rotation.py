"""A finding of ours: on turned spirals the AND-mask finds nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.methods import CHANCE, PERFECT
from lab.figures.claims import Claim
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST

THRESHOLD, ROTATED = "aggregator.agreement_threshold", "dataset.rotated"
NEAR = 0.05
"""A run finds nothing if its test accuracy is less than this above chance."""


def claims(results: Path) -> list[Claim]:
    """Return the finding, from ``spirals/rotated_runs.csv``."""
    runs = pd.read_csv(results / "spirals" / "rotated_runs.csv")
    masked = runs[runs.aggregator == "and_mask"]
    straight = masked[~masked[ROTATED]]
    thresholds = sorted(straight[THRESHOLD].unique())
    best = max(thresholds, key=lambda t: straight[straight[THRESHOLD] == t]["test/accuracy"].median())
    before = straight[straight[THRESHOLD] == best]["test/accuracy"]
    after = masked[masked[ROTATED]]
    tried = ", ".join(f"{threshold:g}" for threshold in thresholds)
    n = int(after.groupby(THRESHOLD).seed.nunique().min())
    return [
        Claim(
            short="On turned spirals the AND-mask finds nothing",
            claim="If all inputs of the spirals are turned by one rotation, the AND-mask does not find the "
            "mechanism, because it votes by component.",
            paper="",
            ours=f"With threshold {best:g} the AND-mask has {median_and_range(before)} % test accuracy on "
            f"inputs that are not turned. On turned inputs it has {median_and_range(after['test/accuracy'])} "
            f"% over all thresholds that we tried ({tried}). The numbers are medians and ranges over n = {n} "
            "seeds each, with 3 revolutions, 46 epochs and settings of a short manual search. Other settings "
            "may do better.",
            number=f"{100 * after['test/accuracy'].max():.1f} % test accuracy at most",
            verdict=turned_rule(float(before.min()), float(after["test/accuracy"].max()), n),
            finding=True,
            warning=True,
        )
    ]


def turned_rule(before: float, after: float, seeds: int) -> str:
    """Return the verdict on turned inputs.

    Args:
        before: the lowest test accuracy at the best threshold on inputs that are not turned.
        after: the highest test accuracy at any threshold on turned inputs.
        seeds: the number of seeds.
    """
    if seeds < FEWEST or before < PERFECT:
        return "undecided: " + (
            f"{seeds} seeds" if seeds < FEWEST else "it finds nothing without a turn either"
        )
    if after < CHANCE + NEAR:
        return "holds"
    return "in part: it finds less" if after < PERFECT else "does not hold"
