"""The claims about trained solutions: those of the authors' regression, and the scores of masked ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from scipy.stats import wilcoxon

from lab.experiments.theory.solutions import DAMPING, EPSILON, PAPER_SIZE, SMALL, reported
from lab.figures.claims import Claim
from lab.figures.holm import LEVEL
from lab.figures.verdicts import FEWEST, significant

NOISE = Path("theory/linear_regression_noise.csv")
FOUND = 0.1
"""The test risk below which a solution rests on the shared feature. The mean's is above 0.4."""
MASKS = {"and_mask": "AND-mask", "geometric_mean": "geometric mean"}


def claims(results: Path) -> list[Claim]:
    """Return the claims on the authors' regression and on the scores of trained solutions."""
    small, large = (pd.read_csv(results / path) for path in (SMALL, PAPER_SIZE))
    return [_regression(pd.read_csv(results / NOISE)), _scores(reported(large), reported(small))]


def _regression(noise: pd.DataFrame) -> Claim:
    clean = noise[noise.noise == 0]
    shared = {name: int((group.test_risk < FOUND).sum()) for name, group in clean.groupby("aggregator")}
    n = clean.seed.nunique()
    of_masks = {label: shared[name] for name, label in MASKS.items()}
    return Claim(
        short="Masks find the regression's shared feature",
        claim="In the authors' linear regression the AND-mask and the geometric mean find the shared "
        "feature.",
        paper="Both find it (notebook of the authors' code).",
        ours=f"The AND-mask finds it in {shared['and_mask']} of {n} seeds, the geometric mean in "
        f"{shared['geometric_mean']} and the mean in {shared['mean']}.",
        number=f"{min(of_masks.values())} of {n} seeds",
        verdict=regression_rule(of_masks, n),
    )


def regression_rule(found: Mapping[str, int], n: int) -> str:
    """Return the verdict from the number of seeds in which each mask finds the shared feature.

    Every seed of both masks has to find it. The claim is not reproduced if each mask misses it in half of the
    seeds or more.
    """
    if n < FEWEST:
        return f"undecided: {n} seeds"
    if min(found.values()) == n:
        return "reproduced"
    if max(found.values()) <= n / 2:
        return "not reproduced"
    return f"in part: {', '.join(f'{label} in {count} of {n} seeds' for label, count in found.items())}"


class Comparison(NamedTuple):
    """The AND-mask's inconsistency beside the mean's, by one measure on one problem.

    Attributes:
        ratio: the AND-mask's median divided by the mean's.
        p: of a two-sided Wilcoxon test over seeds. Runs of the same seed share data and network.
    """

    ratio: float
    p: float


def consistency_rule(comparisons: Mapping[str, Comparison]) -> str:
    """Return the verdict on how consistent masked solutions are.

    It is reproduced if they are more consistent by every measure, and not reproduced if by none. The
    comparisons share the level (Holm).

    Args:
        comparisons: by words such as ``by the worst pair``.
    """
    found = significant([comparison.p for comparison in comparisons.values()])
    sure = {name: c.ratio for (name, c), s in zip(comparisons.items(), found, strict=True) if s}
    more = [f"{name} ({ratio:.2f} times)" for name, ratio in sure.items() if ratio < 1]
    less = [f"{name} ({ratio:.1f} times)" for name, ratio in sure.items() if ratio > 1]
    if not sure:
        return "undecided: no difference is significant"
    if len(more) == len(comparisons):
        return "reproduced"
    if not more:
        return f"not reproduced: less consistent {', '.join(less)}"
    words = "mixed, " if less else ""
    return f"in part: {words}more consistent {', '.join(more)}" + (
        f", less {', '.join(less)}" if less else ""
    )


def _scores(large: pd.DataFrame, small: pd.DataFrame) -> Claim:
    regression = small[small.problem == "linear regression"]
    comparisons = {
        "by the worst pair of the spirals": _compared(large, "inconsistency"),
        "by their median pair": _compared(large, "median_gap"),
        "by the worst pair of the regression": _compared(regression, "inconsistency"),
    }
    worst, middle = (
        {name: group[column].median() / EPSILON for name, group in large.groupby("aggregator")}
        for column in ("inconsistency", "median_gap")
    )
    p_values = ", ".join(f"{comparison.p:.1g} {name}" for name, comparison in comparisons.items())
    first, second, third = comparisons.values()
    return Claim(
        short="AND-masked solutions are more consistent",
        claim="AND-masked solutions are more consistent than averaged ones (the paper only argues this).",
        paper="The paper implies this.",
        ours="On the spirals at the paper's size (3 revolutions, stopped at a common training risk) we "
        "divide the inconsistency by epsilon. For the worst pair of environments, which is the definition, "
        f"the median is {worst['and_mask']:.1f} with the AND-mask and {worst['mean']:.1f} with the mean. For "
        f"the median pair it is {middle['and_mask']:.1f} with the AND-mask and {middle['mean']:.1f} with the "
        f"mean. On the authors' linear regression the worst pair has {third.ratio:.1f} times the mean's "
        f"inconsistency. There are n = {large.seed.nunique()} seeds each. The p values of paired tests are "
        f"{p_values}; they share a level of {LEVEL:g} (Holm). Epsilon is {EPSILON:g}, and the damping is "
        f"{DAMPING:g}, on which the score depends too.",
        number=f"{first.ratio:.2f} times the mean's inconsistency by the worst pair, {second.ratio:.1f} by "
        f"the median pair, {third.ratio:.1f} on the regression",
        verdict=consistency_rule(comparisons),
    )


def _compared(solutions: pd.DataFrame, column: str) -> Comparison:
    of = {
        name: group.groupby("seed")[column].first()
        for name, group in solutions.groupby("aggregator")
        if name in ("and_mask", "mean")
    }
    masked, mean = of["and_mask"], of["mean"]
    p = float(wilcoxon(masked, mean).pvalue) if (masked != mean).any() else 1.0
    return Comparison(float(masked.median() / mean.median()), p)
