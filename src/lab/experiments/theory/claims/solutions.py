"""The claims about trained solutions: those of the authors' regression, and the scores of masked ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from scipy.stats import wilcoxon

from lab.experiments.theory.solutions import DAMPING, EPSILON, PAPER_SIZE, SMALL, reported
from lab.figures.claims import Claim
from lab.figures.holm import LEVEL
from lab.figures.markdown_table import as_markdown
from lab.figures.two_groups import Difference, signs
from lab.figures.verdicts import FEWEST

NOISE = Path("theory/linear_regression_noise.csv")
FOUND = 0.1
"""The test risk below which a solution rests on the shared feature. The mean's is above 0.4."""
PROBLEMS = {
    "spirals, 141058 parameters": "the spirals at the paper's size",
    "spirals, 314 parameters": "the small spirals",
    "linear regression": "the authors' regression",
    "linear_sem": "IRM's linear example",
    "two-parameter landscape": "the landscape of two parameters",
}
"""The problems whose solutions are scored, with their names in the claim."""
COMPARABLE = 3
"""Two solutions fit the training data equally well if their risks differ by at most this factor."""
MASKS = {"and_mask": "AND-mask", "geometric_mean": "geometric mean"}


def claims(results: Path) -> list[Claim]:
    """Return the claims on the authors' regression and on the scores of trained solutions."""
    small, large = (pd.read_csv(results / path) for path in (SMALL, PAPER_SIZE))
    return [_regression(pd.read_csv(results / NOISE)), _scores(pd.concat([large, small]))]


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
    """The AND-mask's inconsistency beside the mean's, on one problem with one damping.

    Attributes:
        ratio: the AND-mask's median divided by the mean's.
        p: of a two-sided Wilcoxon test over seeds. Runs of the same seed share data and network.
    """

    ratio: float
    p: float


def consistency_rule(comparisons: Mapping[str, Sequence[Comparison]], unequal: Collection[str] = ()) -> str:
    """Return the verdict on how consistent masked solutions are by the paper's definition, the worst pair.

    A difference counts if it is significant with each damping, and has the same sign. All comparisons that
    decide share the level (Holm). Reproduced: masked solutions are more consistent on each problem. In part:
    on some. Not reproduced: on none, and less consistent on most. Undecided: all else.

    Args:
        comparisons: one comparison for each damping, by the name of the problem.
        unequal: the problems whose masked and averaged solutions do not fit the training data equally well.
            They do not decide, because the score of what is left to learn is no property of a solution.
    """
    fair = {name: of for name, of in comparisons.items() if name not in unequal}
    found = iter(signs([Difference(1 - one.ratio, one.p) for of in fair.values() for one in of]))
    sides = {name: {next(found) for _ in of} for name, of in fair.items()}
    more = [name for name, side in sides.items() if side == {1}]
    less = [name for name, side in sides.items() if side == {-1}]
    rest = [name for name in sides if name not in (*more, *less)]
    if sides and len(more) == len(sides):
        return "reproduced"
    said = {"more consistent on": more, "less consistent on": less, "open on": rest}
    words = "; ".join(f"{word} {', '.join(names)}" for word, names in said.items() if names)
    if more:
        return f"in part: {words}"
    if len(less) > len(sides) / 2:
        return f"not reproduced: {words}"
    return f"undecided: {words}" if less else "undecided: no difference is significant with each damping"


def _scores(scored: pd.DataFrame) -> Claim:
    same = _with_one_mask(scored[scored.epsilon == EPSILON])
    of = dict(tuple(same.groupby("problem")))
    comparisons = {
        name: {damping: _compared(rows, "inconsistency") for damping, rows in of[problem].groupby("damping")}
        for problem, name in PROBLEMS.items()
    }
    middle = {name: _compared(reported(of[problem]), "median_gap") for problem, name in PROBLEMS.items()}
    risks = same.groupby(["problem", "aggregator"]).train_risk.median()
    unequal = [
        name
        for problem, name in PROBLEMS.items()
        if not 1 / COMPARABLE <= risks[problem, "and_mask"] / risks[problem, "mean"] <= COMPARABLE
    ]
    thresholds = same[same.aggregator == "and_mask"].groupby("problem").agreement_threshold.max()
    rows = [
        {
            "problem": name,
            "threshold": f"{thresholds[problem]:g}",
            **{f"damping {damping!s}": _with_p(one) for damping, one in comparisons[name].items()},
            "median pair": _times(middle[name]),
            "risk, AND-mask": f"{risks[problem, 'and_mask']:.2g}",
            "risk, mean": f"{risks[problem, 'mean']:.2g}",
        }
        for problem, name in PROBLEMS.items()
    ]
    return Claim(
        short="AND-masked solutions are more consistent",
        claim="AND-masked solutions are more consistent than averaged ones (the paper only argues this).",
        paper="The paper implies this.",
        ours="We divide the AND-mask's median inconsistency by the mean's, for the worst pair of "
        "environments, which is the definition, and for the median pair at damping "
        f"{DAMPING:g}. Of several masks the one with the highest threshold counts. The table has the ratios "
        f"and the median training risks of both. There are n = {same.seed.nunique()} seeds each. A "
        f"problem decides if the larger training risk is at most {COMPARABLE} times the smaller one. This "
        f"leaves out {' and '.join(unequal)}. The p values of paired tests for the worst pair share a level "
        f"of {LEVEL:g} (Holm). Epsilon is {EPSILON:g}. The spirals stop at a common training risk. On "
        "the large network one step of the mean may lead from above this risk to less than half of it.",
        table=as_markdown(rows),
        number="times the mean's inconsistency: "
        + ", ".join(
            f"{_times(own[DAMPING])} on {name}" for name, own in comparisons.items() if name not in unequal
        ),
        verdict=consistency_rule({name: list(own.values()) for name, own in comparisons.items()}, unequal),
    )


def _with_one_mask(scored: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the mean, and of the AND-mask with its highest threshold on each problem."""
    masks = scored[scored.aggregator == "and_mask"]
    thresholds = masks.groupby("problem").agreement_threshold
    highest = masks[masks.agreement_threshold == thresholds.transform("max")]
    return pd.concat([scored[scored.aggregator == "mean"], highest])


def _with_p(comparison: Comparison) -> str:
    return f"{_times(comparison)} (p = {comparison.p:.2g})"


def _times(comparison: Comparison) -> str:
    return f"{comparison.ratio:,.{2 if comparison.ratio < 10 else 0}f}"


def _compared(solutions: pd.DataFrame, column: str) -> Comparison:
    """Compare the AND-mask's and the mean's solutions of one problem, one of each for each seed.

    Raises:
        ValueError: an aggregator has two solutions of a seed.
    """
    of = solutions.pivot(index="seed", columns="aggregator", values=column)
    masked, mean = of["and_mask"], of["mean"]
    p = float(wilcoxon(masked, mean).pvalue) if (masked != mean).any() else 1.0
    return Comparison(float(masked.median() / mean.median()), p)
