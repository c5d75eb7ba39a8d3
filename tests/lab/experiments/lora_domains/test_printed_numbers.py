"""The numbers that docs/lora_domains.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import word
from lab.experiments.lora_domains.claims.masks import BAND
from lab.experiments.lora_domains.results import CURVES, FOLDER, RUNS, accuracies

MASKS = ["mask_over_examples", "mask_over_domains", "mask_on_the_product"]


@pytest.fixture(scope="module")
def runs(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / FOLDER / RUNS)


@pytest.fixture(scope="module")
def points(root: Path) -> pd.Series:
    """The mean test accuracy of every method in per cent."""
    return 100 * accuracies(root / "results").mean()


def test_what_was_possible_and_what_masks_gain(text: str, points: pd.Series) -> None:
    more = points["random_codes"] - points["plain"]
    assert f"The oracle shows that {word(round(more))} points more were possible." in text
    masked = points[MASKS]
    assert (masked - points["plain"]).max() < BAND and masked.max() - masked.min() < BAND
    assert (
        f"No mask keeps LoRA off the code by {word(int(BAND))} points or more, and no kind of vote is better "
        "than another by that much."
    ) in text


def test_what_the_held_out_domain_chose(text: str, runs: pd.DataFrame, root: Path) -> None:
    plain = runs[runs.aggregator == "plain"]
    (rate,) = set(plain["optimizer.lr"])
    curves = pd.read_csv(root / "results" / FOLDER / CURVES)
    last = curves[curves.aggregator == "plain"].step.max()
    assert len(plain) == 5
    assert (
        f"chose a middle rate ({rate:.3f}) and evaluations after {plain.step.min()} to {plain.step.max()} of "
        f"{last} steps."
    ) in text


def test_how_long_a_run_takes(text: str, runs: pd.DataFrame) -> None:
    """The seconds are rounded to five."""
    seconds = runs[runs.aggregator.isin(["plain", *MASKS])].wall_seconds
    low, high = (5 * round(value / 5) for value in (seconds.min(), seconds.max()))
    assert low == 30 and f"A run takes half a minute to {high} seconds on one core." in text


def test_thresholds(text: str, runs: pd.DataFrame, root: Path) -> None:
    threshold = runs.groupby("aggregator")["aggregator.agreement_threshold"].first()
    of_domains = threshold[["mask_over_domains", "mask_on_the_product"]]
    dissent = sorted(max(n for n in range(5) if 8 - 2 * n >= 8 * share) for share in of_domains)
    few, more = (word(n) for n in dissent)
    assert f"It chose thresholds that let {few} or {more} of eight domains dissent." in text
    folder = root / "results" / FOLDER / "search" / "lora_domains"
    trials = {name: pd.read_csv(folder / f"{name}_trials.csv") for name in ["plain", *MASKS]}
    assert {tuple(table["optimizer.lr"]) for table in trials.values()} == {
        tuple(trials["plain"]["optimizer.lr"])
    }
    drawn = {name: set(trials[name]["aggregator.agreement_threshold"]) for name in MASKS}
    assert drawn["mask_over_domains"] == drawn["mask_on_the_product"] == {0.25, 0.5, 1}
    assert drawn["mask_over_examples"] == {0.05, 0.1, 0.4}
    assert (
        f"All searches have the same {word(len(trials['plain']))} draws, in which .75 and .2 do not occur."
    ) in text
