"""Findings: whether masks keep LoRA off the code, which votes are better, and whether the basis matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lab.experiments.lora_domains.results import accuracies, last_accuracies
from lab.figures.claims import Claim
from lab.figures.mean_interval import mean_interval
from lab.figures.two_groups import paired
from lab.figures.verdicts import FEWEST, kind_of, significant

BAND = 5.0
"""Points of test accuracy that count as an effect.

The accuracy of one seed has a standard error of about two points, because the test has 400 images. Five
points are more than twice as much."""

PAIRS = (
    (
        "Votes of domains keep LoRA off the code",
        "LoRA with the AND-mask over domains has a higher test accuracy, with turned codes, than plain LoRA",
        "mask_over_domains",
        "plain",
    ),
    (
        "Votes of domains beat votes of examples",
        "LoRA with the AND-mask over domains has a higher test accuracy than with the mask over examples",
        "mask_over_domains",
        "mask_over_examples",
    ),
    (
        "A vote on LoRA's product is better",
        "The AND-mask over domains has a higher test accuracy if domains vote on LoRA's product",
        "mask_on_the_product",
        "mask_over_domains",
    ),
)
"""The short and the long claim, and the two methods that it compares."""


def claims(results: Path) -> list[Claim]:
    """Return three findings from ``lora_domains/lora_runs.csv``: paired differences over the seeds."""
    table = accuracies(results)
    differences = [(100 * (table[one] - table[other])).tolist() for _, _, one, other in PAIRS]
    percent = {name: f"{100 * mean:.2f}" for name, mean in table.mean().items()}
    last = {name: f"{100 * mean:.2f}" for name, mean in last_accuracies(results).mean().items()}
    found = []
    for (short, claim, one, other), own, said in zip(PAIRS, differences, verdicts(differences), strict=True):
        low, high = mean_interval(own)
        found.append(
            Claim(
                short=short,
                claim=f"{claim}.",
                paper="",
                ours=f"The test accuracies are {percent[one]} and {percent[other]} %. The difference is "
                f"{np.mean(own):+.2f} points, with a 95 % interval of {low:+.2f} to {high:+.2f} (paired t, n "
                f"= {len(own)} seeds; the three findings share one level). Plain LoRA has "
                f"{percent['plain']} %, the model that is not fine-tuned {percent['not_fine_tuned']} %, and "
                f"the oracle {percent['random_codes']} %. The data are digits of scikit-learn. Each method "
                "had eight trials, and a held-out domain chose the best one and the evaluation. At the last "
                f"step the test accuracies are {last[one]} and {last[other]} %.{_little_to_prevent(table)}",
                number=f"{np.mean(own):+.2f} points",
                verdict=said,
                finding=True,
                warning=kind_of(said) == "does not hold",
            )
        )
    return found


def _little_to_prevent(table: pd.DataFrame) -> str:
    """Return that plain LoRA did not come to rely on the code where it was evaluated, if that is so."""
    if table["plain"].mean() < table["not_fine_tuned"].mean():
        return ""
    return (
        " At the chosen evaluations plain LoRA is not below the model that is not fine-tuned. So a mask had "
        "little to prevent."
    )


def verdicts(differences: Sequence[Sequence[float]]) -> list[str]:
    """Return the verdict on each comparison; together they share the level (Holm).

    A statement holds if the mean difference is significant and at least ``BAND``. It holds in part if it is
    significant and smaller. It does not hold if the difference is significant the other way, or if the upper
    end of its 95 % interval is below ``BAND``. All else is undecided, and so are fewer than three seeds.

    Args:
        differences: for each comparison the differences of test accuracy in points, one for each seed.
    """
    sure = significant([paired(own).p_value if len(own) >= FEWEST else math.nan for own in differences])
    return [_verdict(own, is_sure) for own, is_sure in zip(differences, sure, strict=True)]


def _verdict(differences: Sequence[float], is_significant: bool) -> str:
    mean = float(np.mean(differences))
    if len(differences) < FEWEST:
        return "undecided: too few seeds"
    if is_significant and mean > 0:
        return "holds" if mean >= BAND else f"in part: by less than {BAND:g} points"
    if is_significant and mean < 0:
        return "does not hold: the other way round"
    if mean_interval(differences)[1] < BAND:
        return f"does not hold: less than {BAND:g} points"
    return "undecided: the seeds differ too much"
