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
        claim="In the authors' linear regression the AND-mask and the geometric mean find the shared "
        "feature.",
        paper="Both find it (notebook of the authors' code).",
        ours=f"The AND-mask finds it in {shared['and_mask']} of {n} seeds, the geometric mean in "
        f"{shared['geometric_mean']} and the mean in {shared['mean']}.",
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
        claim="AND-masked solutions are more consistent than averaged ones (the paper only argues this).",
        paper="The paper implies this.",
        ours="On the spirals at the paper's size we divide the inconsistency by epsilon. For the worst pair "
        f"of environments, which is the definition, the median is {worst['and_mask']:.1f} with the AND-mask "
        f"and {worst['mean']:.1f} with the mean. For the median pair it is {middle['and_mask']:.1f} with the "
        f"AND-mask and {middle['mean']:.1f} with the mean. There are n = {chosen.seed.nunique()} seeds. "
        f"Epsilon is {EPSILON:g}, and the damping is {DAMPING:g}. On the linear regression the order is "
        "reversed.",
        number=f"{worst['and_mask'] / worst['mean']:.2f} times the mean's inconsistency",
        verdict="reproduced" if agree else "partly: it depends on the pair, the damping and the problem",
    )
