"""The claim about DANN: a linear layer aligns the environments, so that their classifier is fooled."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.domains import (
    ACCURACY,
    SEPARATING,
    Group,
    chance,
    read_domains,
    read_groups,
)
from lab.experiments.spirals.settings import DOMAINS_OF_THREE, THREE, TWO
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import median_and_range
from lab.figures.verdicts import FEWEST, at_settings

FOOLED = 2.0
"""A domain classifier cannot tell environments apart if its accuracy is at most this many times chance."""


def claims(results: Path) -> list[Claim]:
    """Return the claim of section 3.1 on DANN, from the trained runs and from the computed unit."""
    tables = {
        TWO.words: read_domains(results, "runs"),
        THREE.words: read_groups(results / DOMAINS_OF_THREE),
    }
    unit = pd.read_csv(results / SEPARATING)
    guess = chance(tables[TWO.words])
    separating = (unit.label_accuracy == 1) & (unit.best_domain_accuracy <= FOOLED * guess)
    verdicts, rows, medians = {}, [], []
    for where, runs in tables.items():
        without, adversary = (
            runs[[group == Group(linear=True, adversary=choice) for group in runs.group]]
            for choice in (False, True)
        )
        hidden, n = int((adversary[ACCURACY] <= FOOLED * guess).sum()), len(adversary)
        there = bool(without[ACCURACY].min() > FOOLED * guess)
        verdicts[where] = domains_rule(bool(separating.all()), there, hidden, n)
        medians.append(f"{100 * adversary[ACCURACY].median():.1f} %")
        rows.append(
            {
                "setting": where,
                "domain classifier": median_and_range(adversary[ACCURACY]),
                "domain classifier without an adversary": median_and_range(without[ACCURACY]),
                "labels, training": median_and_range(adversary["train/accuracy"]),
                "labels, test": median_and_range(adversary["test/accuracy"]),
                f"at most {FOOLED:g} times chance": f"{hidden} of {n} seeds",
            }
        )
    return [
        Claim(
            short="A linear layer hides environments from DANN's classifier",
            claim="On the spirals DANN needs only a single linear layer to align the environments, so that "
            "the domain classifier cannot tell them apart.",
            paper="The environments become indistinguishable to the domain classifier, and this uses only "
            "the shortcuts.",
            thesis="DANN aligns the representations with the shortcuts alone. A single linear layer is not "
            "mentioned.",
            ours="A single linear layer is sufficient: a unit of the shortcuts alone gives every label, and "
            f"tells the environment of at most {100 * unit.best_domain_accuracy.max():.1f} % of the examples "
            f"(chance {100 * guess:.1f} %), on the data of {int(separating.sum())} of {len(unit)} seeds. Its "
            f"outputs differ from the labels by at most {unit.largest_error.max():.0e}, and its length is "
            f"{unit.length.median():.0f} in the median. Training did not find it (Adam at 1e-3, reversal "
            "weight 1, 30 epochs). The table has accuracies in %, medians and ranges. Without an adversary, "
            "the gradient of the domain classifier does not reach the features. The last column counts the "
            "seeds in which the domain classifier, with the adversary, cannot tell the environments apart. "
            "No other setting was tried, and not the first weights of the authors' code.",
            table=as_markdown(rows),
            number=f"the domain classifier is right for {' and '.join(medians)} of the training examples, "
            "with 2 and 3 revolutions",
            verdict=at_settings(verdicts),
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
