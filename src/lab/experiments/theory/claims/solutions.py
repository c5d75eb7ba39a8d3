"""The claims about trained solutions: those of the authors' regression, and the scores of masked ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.solutions import DAMPING, EPSILON, PAPER_SIZE
from lab.figures.claims import Claim

NOISE = Path("theory/linear_regression_noise.csv")


def claims(results: Path) -> list[Claim]:
    """Return the claims on the authors' regression and on the scores of the spirals at the paper's size."""
    return [_regression(pd.read_csv(results / NOISE)), _scores(pd.read_csv(results / PAPER_SIZE))]


def _regression(noise: pd.DataFrame) -> Claim:
    clean = noise[noise.noise == 0]
    shared = {name: (group.test_risk < 0.1).sum() for name, group in clean.groupby("aggregator")}
    n = clean.seed.nunique()
    fewest = min(shared["and_mask"], shared["geometric_mean"])
    return Claim(
        short="Masks find the regression's shared feature",
        claim="the authors' linear regression: AND-mask and geometric mean find the shared feature",
        paper="yes (notebook of the authors' code)",
        ours=f"{shared['and_mask']}, {shared['geometric_mean']} of {n} seeds; mean {shared['mean']}",
        number=f"{fewest} of {n} seeds",
        verdict="reproduced" if fewest == n else "partly",
    )


def _scores(solutions: pd.DataFrame) -> Claim:
    chosen = solutions[(solutions.epsilon == EPSILON) & (solutions.damping == DAMPING)]
    medians = {
        column: {name: group[column].median() / EPSILON for name, group in chosen.groupby("aggregator")}
        for column in ("inconsistency", "median_gap")
    }
    worst, middle = medians["inconsistency"], medians["median_gap"]
    agree = worst["and_mask"] < worst["mean"] and middle["and_mask"] < middle["mean"]
    return Claim(
        short="AND-masked solutions are more consistent",
        claim="AND-masked solutions are more consistent than averaged ones (the paper only argues it)",
        paper="implied",
        ours="spirals at the paper's size, median inconsistency / epsilon of AND-mask and mean: "
        f"{worst['and_mask']:.1f} and {worst['mean']:.1f} for the worst pair of environments (the "
        f"definition), {middle['and_mask']:.1f} and {middle['mean']:.1f} for the median pair; n = "
        f"{chosen.seed.nunique()} seeds, epsilon {EPSILON:g}, damping {DAMPING:g}; reversed on the linear "
        "regression",
        number=f"{worst['and_mask'] / worst['mean']:.2f} x the mean's inconsistency",
        verdict="reproduced" if agree else "partly: depends on the pair, the damping and the problem",
    )
