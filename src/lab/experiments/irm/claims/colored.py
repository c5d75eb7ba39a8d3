"""The claim that IRM's settings need no test data, but only a fourth environment that is not trained on.

The rule was written on 26 November 2026, before the first run on MNIST ended. On 28 November a verdict on
fewer than three seeds became undecided.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.irm.results import colored_runs
from lab.experiments.irm.selection import LOOKS_AT
from lab.experiments.irm.verdicts import FEWER_IMAGES, judged, most
from lab.figures.claims import Claim
from lab.figures.style import data_sources, median_and_range
from lab.figures.verdicts import FEWEST

STUDY = "colored"
SHOWN = {"mean": "plain training", "irm_penalty": "IRM", "grayscale_mean": "grayscale oracle"}
ROOM = 0.2
"""The oracle must be this much above plain training in test accuracy.

Otherwise there is nothing for IRM to gain."""


def claims(results: Path) -> list[Claim]:
    """Return the claim on settings that were searched with a validation environment.

    The numbers come from ``irm/colored_runs.csv``. A seed of IRM leaves the colour if its test accuracy is
    above chance and nearer to the median of the grayscale oracle than to that of plain training.
    """
    runs = colored_runs(results)
    test = {name: runs[runs.row == name]["test/accuracy"] for name in SHOWN if (runs.row == name).any()}
    claim = Claim(
        short="IRM's settings are found without test data",
        claim="On Colored MNIST a validation environment, in which the colour says nothing about the label, "
        "finds settings of IRM and a moment to stop. With these, IRM does not rely on the colour.",
        paper="The reimplementation proposes a fourth environment for early stopping and does not try it. "
        "The IRM authors chose their settings with the test environment in view.",
        ours=_words(runs, test) if test else "",
        number=f"{100 * test['irm_penalty'].median():.1f} % test accuracy" if "irm_penalty" in test else "",
        verdict="",
    )
    return [judged(claim, _kind(test), results, STUDY, FEWER_IMAGES)]


def _left(test: dict[str, pd.Series]) -> pd.Series:
    """Return, for each seed of IRM, whether it leaves the colour."""
    plain, gray = test["mean"].median(), test["grayscale_mean"].median()
    left: pd.Series = test["irm_penalty"] > max(0.5, (plain + gray) / 2)
    return left


def _kind(test: dict[str, pd.Series]) -> str:
    if set(test) != set(SHOWN):
        return "undecided"
    left = _left(test)
    return verdict(int(left.sum()), len(left), test["grayscale_mean"].median() - test["mean"].median())


def verdict(leaving: int, n: int, room: float) -> str:
    """Return the verdict if ``leaving`` of ``n`` seeds of IRM leave the colour.

    Reproduced: all seeds do. In part: their share is above a half by more than two standard errors. Not
    reproduced: it is below a half by as much. Undecided: it is in between, there is nothing to gain, or there
    are fewer than three seeds.

    Args:
        leaving: the number of seeds that leave the colour.
        n: the number of seeds.
        room: the test accuracy of the grayscale oracle minus that of plain training.
    """
    if n < FEWEST:
        return f"undecided: {n} seeds"
    if room < ROOM:
        return "undecided: there is nothing to gain"
    if leaving == n:
        return "reproduced"
    kinds = {"yes": f"in part: {leaving} of {n} seeds", "no": "not reproduced", "open": "undecided"}
    return kinds[most(leaving / n, n)]


def _words(runs: pd.DataFrame, test: dict[str, pd.Series]) -> str:
    each = ", ".join(f"{SHOWN[name]} {median_and_range(values)}" for name, values in test.items())
    seeds = min(len(values) for values in test.values())
    left = ""
    if set(test) == set(SHOWN):
        is_left = _left(test)
        left = (
            f" IRM is above chance and nearer to the oracle than to plain training in {is_left.sum()} of "
            f"{len(is_left)} seeds."
        )
    chosen = " and ".join(LOOKS_AT[rule] for rule in runs.selection.unique())
    return (
        f"Test accuracy in %: {each}.{left} The numbers are medians and ranges over n = {seeds} seeds. In "
        f"each run the evaluation is chosen on {chosen}. The data are {data_sources(runs)}."
    )
