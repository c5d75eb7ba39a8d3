"""The claim about Colored MNIST at the IRM authors' own setting.

The rule was written on 25 November 2026, before the first run of the study ended. On
26 November, after the runs, the verdict got its limit, the other network. The numbers are compared
with the means of ten restarts in table 1 of *Invariant Risk Minimization*.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.irm.results import (
    PUBLISHED,
    PUBLISHED_DEVIATIONS,
    PUBLISHED_RESTARTS,
    ROW_LABELS,
    colored_runs,
    mean_and_deviation,
)
from lab.experiments.irm.verdicts import ANOTHER_NETWORK, judged
from lab.figures.claims import Claim
from lab.figures.style import data_sources

STUDY = "paper"
OTHER_IMAGES = 0.01
"""A difference of means up to this size says nothing. It is two standard errors on 10,000 images.

Our images are MNIST's test images, theirs are the last 10,000 training images. All restarts test on the same
images."""
APART = 0.2
"""The gap in test accuracy between IRM and plain training that counts as the pattern.

The authors print a gap of 50 points."""
TOO_WIDE = 0.05
"""If two standard errors of the difference are above this, ten restarts say too little."""
PARTS = ("train/accuracy", "test/accuracy")


class Mean(NamedTuple):
    """Our mean accuracy, and two standard errors of its difference from the authors' mean."""

    value: float
    two_errors: float


def claims(results: Path) -> list[Claim]:
    """Return the claim that IRM ignores the colour of digits, from ``irm/paper_runs.csv``."""
    runs = colored_runs(results, name=STUDY)
    by_row = {name: runs[runs.row == name] for name in PUBLISHED if (runs.row == name).any()}
    ours = "; ".join(_words(name, chosen) for name, chosen in by_row.items())
    claim = Claim(
        short="IRM ignores the colour of digits",
        claim="On Colored MNIST IRM ignores the colour, and plain training does not (the IRM authors' "
        "protocol).",
        paper="Training / test accuracy in %: "
        + ", ".join(f"{ROW_LABELS[name]} {_published(name)}" for name in PUBLISHED)
        + ". The numbers are means and standard deviations of 10 restarts (IRM authors).",
        ours=f"Training / test accuracy in %: {ours}. The numbers are means and standard deviations. "
        "The network has two logits, LeakyReLU and PyTorch's initialisation; theirs has one logit, ReLU and "
        "Xavier's. All restarts test on the same 10,000 images. The data are"
        f" {data_sources(runs)}."
        if ours
        else "",
        number=f"{100 * by_row['irm_penalty'][PARTS[1]].mean():.1f} % test accuracy"
        if "irm_penalty" in by_row
        else "",
        verdict="",
    )
    return [judged(claim, _kind(by_row), results, STUDY, ANOTHER_NETWORK)]


def two_errors(name: str, part: int, chosen: pd.DataFrame) -> float:
    """Return two standard errors of the difference between our mean and the authors' mean."""
    # The authors' deviation is numpy's, which divides by n.
    theirs = PUBLISHED_DEVIATIONS[name][part] ** 2 / (PUBLISHED_RESTARTS - 1)
    return 2 * math.sqrt(theirs + chosen[PARTS[part]].var() / len(chosen))


def _kind(by_row: dict[str, pd.DataFrame]) -> str:
    if set(by_row) != set(PUBLISHED):
        return "undecided"
    found = {
        name: tuple(Mean(float(chosen[p].mean()), two_errors(name, i, chosen)) for i, p in enumerate(PARTS))
        for name, chosen in by_row.items()
    }
    return verdict(found)


def verdict(found: dict[str, tuple[Mean, ...]]) -> str:
    """Return the verdict on the authors' table.

    Reproduced: the mean train and test accuracies of IRM, plain training and the grayscale oracle all lie
    within two standard errors of the difference, or within one point, of the printed ones. In part: not all
    of them do, but the test accuracy of IRM is above chance and 20 points above that of plain training, and
    that of the oracle is above IRM's. Undecided: IRM's restarts differ so much that two standard errors of
    the difference are above five points. Otherwise the claim is not reproduced.

    Args:
        found: for each row of ``PUBLISHED`` our mean accuracies in training and in test.
    """
    irm, plain, gray = (found[name][1].value for name in ("irm_penalty", "mean", "grayscale_mean"))
    if found["irm_penalty"][1].two_errors > TOO_WIDE:
        return "undecided: the restarts differ too much"
    if all(
        abs(mean.value - printed) <= max(OTHER_IMAGES, mean.two_errors)
        for name, means in found.items()
        for mean, printed in zip(means, PUBLISHED[name], strict=True)
    ):
        return "reproduced"
    if irm > 0.5 and irm - plain >= APART and gray > irm:
        return "in part: the pattern agrees, the numbers do not"
    return "not reproduced"


def _words(name: str, chosen: pd.DataFrame) -> str:
    means = " / ".join(mean_and_deviation(chosen[part]) for part in PARTS)
    return f"{ROW_LABELS[name]} {means} (n = {len(chosen)})"


def _published(name: str) -> str:
    pairs = zip(PUBLISHED[name], PUBLISHED_DEVIATIONS[name], strict=True)
    return " / ".join(f"{100 * mean:.1f} ± {100 * deviation:.1f}" for mean, deviation in pairs)
