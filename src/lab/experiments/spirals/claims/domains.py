"""The claim about DANN: a linear layer aligns the environments, so that their classifier is fooled."""

from __future__ import annotations

from pathlib import Path

from lab.experiments.spirals.domains import ACCURACY, Group, chance, read_domains
from lab.figures.claims import Claim
from lab.figures.style import median_and_range

FOOLED = 2.0
"""A domain classifier cannot tell environments apart if its accuracy is at most this many times chance."""


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on DANN, from ``spirals/dann_features_runs.csv``."""
    runs = read_domains(results, "runs")
    without, adversary = (
        runs[[group == Group(linear=True, adversary=choice) for group in runs.group]]
        for choice in (False, True)
    )
    guess = chance(runs)
    there = bool(without[ACCURACY].min() > FOOLED * guess)
    hidden = int((adversary[ACCURACY] <= FOOLED * guess).sum())
    median = adversary[ACCURACY].median()
    return [
        Claim(
            short="A linear layer hides environments from DANN's classifier",
            claim="On the spirals DANN needs only a single linear layer to align the environments, so that "
            "the domain classifier cannot tell them apart.",
            paper="The environments become indistinguishable to the domain classifier, and this uses only "
            "the shortcuts.",
            ours=f"With DANN the domain classifier is right for {median_and_range(adversary[ACCURACY])} % of "
            f"the training examples (chance {100 * guess:.1f} %). Its accuracy is at most {FOOLED:g} times "
            f"chance in {hidden} of {len(adversary)} seeds. If its gradient does not reach the features, the "
            f"classifier is right for {median_and_range(without[ACCURACY])} %. With DANN the labels are "
            f"right for {median_and_range(adversary['train/accuracy'])} % of the training examples and "
            f"{median_and_range(adversary['test/accuracy'])} % of the test examples. The numbers are medians "
            f"and ranges over n = {len(adversary)} seeds each.",
            number=f"{100 * median:.1f} % of the environments recognised",
            verdict=_verdict(there, hidden, len(adversary), bool(median < without[ACCURACY].median())),
        )
    ]


def _verdict(there: bool, hidden: int, n: int, lower: bool) -> str:
    """Return the verdict in words.

    Args:
        there: whether the classifier tells environments apart without an adversary, so that DANN has
            something to hide.
        hidden: the number of seeds in which DANN hides the environments.
        n: the number of seeds.
        lower: whether the classifier's median accuracy is lower with the adversary than without.
    """
    if there and hidden == n:
        return "reproduced"
    if there and hidden:
        return f"in part: hidden in {hidden} of {n} seeds"
    if there and lower:
        return (
            f"not reproduced: hidden in 0 of {n} seeds, but recognised less often than without an adversary"
        )
    return "not reproduced"
