"""The claim about cows and camels: if every example is an environment, a cue of 80 % is not an invariance.

The rule was written on 26 November 2026, before the first run on MNIST ended. On 28 November a verdict on
fewer than three seeds became undecided.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lab.experiments.irm.cue import (
    AGREES,
    COWS,
    LABEL_NOISE,
    PASSED_BY_ARITHMETIC,
    THRESHOLD,
    digit_alone,
    read_cue,
)
from lab.experiments.irm.verdicts import judged
from lab.figures.claims import Claim
from lab.figures.markdown_table import as_markdown
from lab.figures.style import data_sources, median_and_range
from lab.figures.verdicts import FEWEST

STUDY = "cue"
DROPPED = 0.9
"""The cue is dropped if this share of the digit's own accuracy is reached where the colour misleads."""
HELPED = 0.05
"""A mask helps if its test accuracy is this much above the one without a mask."""
LEARNED = 0.6
"""Below this training accuracy nothing was learned. It lies between chance and the 80 % of the colour."""


def claims(results: Path) -> list[Claim]:
    """Return the claim of the appendix to section 4, from ``irm/cue_runs.csv``."""
    runs = read_cue(results)
    cows = runs[runs[LABEL_NOISE] == COWS]
    of = {float(t): cows[cows[THRESHOLD] == t] for t in sorted(cows[THRESHOLD].unique())}
    rows = [
        {
            "threshold": f"{threshold:g}",
            "test": median_and_range(chosen["test/accuracy"]),
            "training": median_and_range(chosen["train/accuracy"]),
        }
        for threshold, chosen in of.items()
    ]
    tests = {t: chosen["test/accuracy"].median() for t, chosen in of.items() if t > PASSED_BY_ARITHMETIC}
    best = max(tests, key=lambda t: tests[t], default=None)
    seeds = min((len(chosen) for chosen in of.values()), default=0)
    claim = Claim(
        short="A mask over examples drops a strong cue",
        claim="In the problem of cows and camels a cue, the grass, agrees with the label in 80 % of the "
        "examples. If every example is an environment of its own, a mask drops this cue and learns the "
        "feature that holds in all examples (appendix to section 4).",
        paper="The paper argues this and does not measure it: grass predicts cows in 80 % of the examples, "
        "so grass cannot be the cow.",
        ours="Here digits stand for cows and colours for grass. In the test set the colour agrees with the "
        f"label in {100 * AGREES['test']:.0f} % of the examples. The table has accuracies in %, medians and "
        f"ranges over n = {seeds} seeds. A prediction by the digit only is right in "
        f"{100 * digit_alone(COWS):.0f} % of the test examples, and one by the colour only in "
        f"{100 * AGREES['test']:.0f} %. The data are {data_sources(cows)}."
        if of
        else "",
        table=as_markdown(rows),
        number=f"{100 * tests[best]:.1f} % test accuracy at threshold {best:g} (the best one in test), "
        f"{100 * of[0.0]['test/accuracy'].median():.1f} % without a mask"
        if best is not None and 0.0 in of
        else "",
        verdict="",
    )
    at = {
        threshold: Accuracies(
            chosen["train/accuracy"].median(),
            chosen["test/accuracy"].median(),
            chosen["test/accuracy"].min(),
        )
        for threshold, chosen in of.items()
    }
    return [judged(claim, verdict(at, seeds), results, STUDY)]


class Accuracies(NamedTuple):
    """The accuracies over the seeds at one threshold: two medians, and the lowest test accuracy."""

    train: float
    test: float
    lowest_test: float


def verdict(at: dict[float, Accuracies], seeds: int) -> str:
    """Return the verdict that a mask over examples drops the cue.

    Only thresholds above 0.6 can drop a cue of 80 %. Reproduced: at one of these thresholds, every seed
    reaches 90 % of the accuracy that the digit gives without the colour, and at least the median without a
    mask. In part: at some threshold above 0, the median is five points above the median without a mask.
    Undecided: no threshold above 0.6 learns anything, or there are fewer than three seeds. Otherwise the
    claim is not reproduced.

    Args:
        at: the accuracies by threshold; threshold 0 means no mask.
        seeds: the smallest number of seeds at any threshold.
    """
    deciding = [found for threshold, found in at.items() if threshold > PASSED_BY_ARITHMETIC]
    if not deciding or 0.0 not in at:
        return "undecided"
    if seeds < FEWEST:
        return f"undecided: {seeds} seeds"
    unmasked = at[0.0].test
    if any(found.lowest_test >= max(DROPPED * digit_alone(COWS), unmasked) for found in deciding):
        return "reproduced"
    if max(found.test for threshold, found in at.items() if threshold > 0) >= unmasked + HELPED:
        return "in part: the mask helps, but does not drop the cue"
    if all(found.train < LEARNED for found in deciding):
        return "undecided: nothing is learned at the thresholds that can drop such a cue"
    return "not reproduced"
