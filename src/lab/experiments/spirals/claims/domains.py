"""The claim about DANN: a linear layer aligns the environments, so that their classifier is fooled."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.domains import ACCURACY, SEPARATING, Group, chance, read_domains
from lab.figures.claims import Claim
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST

FOOLED = 2.0
"""A domain classifier cannot tell environments apart if its accuracy is at most this many times chance."""


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on DANN, from the trained runs and from the computed unit."""
    runs = read_domains(results, "runs")
    without, adversary = (
        runs[[group == Group(linear=True, adversary=choice) for group in runs.group]]
        for choice in (False, True)
    )
    unit = pd.read_csv(results / SEPARATING)
    guess = chance(runs)
    hidden = int((adversary[ACCURACY] <= FOOLED * guess).sum())
    separating = (unit.label_accuracy == 1) & (unit.best_domain_accuracy <= FOOLED * guess)
    return [
        Claim(
            short="A linear layer hides environments from DANN's classifier",
            claim="On the spirals DANN needs only a single linear layer to align the environments, so that "
            "the domain classifier cannot tell them apart.",
            paper="The environments become indistinguishable to the domain classifier, and this uses only "
            "the shortcuts.",
            thesis="DANN aligns the representations with the shortcuts alone. A single linear layer is not "
            "mentioned.",
            ours="A single linear layer is sufficient: a unit of the shortcuts alone that gives every "
            f"label, and at best {100 * unit.best_domain_accuracy.max():.1f} % of the environments, exists "
            f"on the data of {int(separating.sum())} of {len(unit)} seeds. Its outputs differ from the "
            f"labels by at most {unit.largest_error.max():.0e}, and its length is {unit.length.median():.0f} "
            "in the median. Training did not find it. With DANN (Adam at 1e-3, reversal weight 1, 30 epochs) "
            f"the domain classifier is right for {median_and_range(adversary[ACCURACY])} % of the training "
            f"examples (chance {100 * guess:.1f} %). Its accuracy is at most {FOOLED:g} times chance in "
            f"{hidden} of {len(adversary)} seeds. If its gradient does not reach the features, the "
            f"classifier is right for {median_and_range(without[ACCURACY])} %. With DANN the labels are "
            f"right for {median_and_range(adversary['train/accuracy'])} % of the training examples and "
            f"{median_and_range(adversary['test/accuracy'])} % of the test examples. The numbers are "
            f"medians and ranges over n = {len(adversary)} seeds each. No other setting was tried.",
            number=f"{100 * adversary[ACCURACY].median():.1f} % of the environments recognised after "
            "training",
            verdict=domains_rule(
                bool(separating.all()), bool(without[ACCURACY].min() > FOOLED * guess), hidden, len(adversary)
            ),
        )
    ]


def domains_rule(exists: bool, there: bool, hidden: int, n: int) -> str:
    """Return the verdict in words.

    Args:
        exists: whether a linear unit that hides the environments exists on the data of every seed.
        there: whether the classifier tells environments apart without an adversary, so that DANN has
            something to hide.
        hidden: the number of seeds in which training with DANN hides the environments.
        n: the number of seeds.
    """
    if n < FEWEST or not there:
        return "undecided: " + ("there is nothing to hide" if not there else f"{n} seeds")
    if hidden == n:
        return "reproduced"
    if hidden:
        return f"in part: hidden in {hidden} of {n} seeds"
    if exists:
        return "in part: such a layer exists, but gradient descent did not find it at this setting"
    return "not reproduced: no such layer exists"
