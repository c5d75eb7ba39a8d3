"""The numbers that docs/why_the_mask_loses.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import whole
from lab.experiments.irm.color_votes import SCORES, STEPS, read_votes

PAGE = "why_the_mask_loses"


@pytest.fixture(scope="module")
def votes(root: Path) -> pd.DataFrame:
    return read_votes(root / "results")


def test_what_networks_follow(text: str, votes: pd.DataFrame) -> None:
    end = votes[votes.step == STEPS].groupby(["second_noise", "method"])
    color, test = end.follows_color.median(), end["test/accuracy"].median()
    masks = ["and_mask", "and_mask_separate"]
    least = min(color[noise, mask] for noise in (0.2, 0.3, 0.4) for mask in masks)
    assert f"at least {whole(least)} % of the labels change with it in the median" in text
    assert f"and with plain training {whole(color[0.4, 'mean'])} % at 0.4" in text
    for noise in (0.6, 0.9):
        assert (
            f"at {noise:g}, {whole(color[noise, 'and_mask_separate'])} % of the labels change with the "
            f"colour, with plain training {whole(color[noise, 'mean'])} %, and the test accuracy is "
            f"{whole(test[noise, 'and_mask_separate'])} % instead of {whole(test[noise, 'mean'])} %"
        ) in text
    assert (
        f"at 0.9 it has {whole(test[0.9, 'and_mask'])} % test accuracy and plain training "
        f"{whole(test[0.9, 'mean'])} %"
    ) in text
    trained = end["train/accuracy"].median()[0.2, "and_mask"]
    assert f"training accuracy of {whole(trained)} %" in text


def test_what_votes_keep(text: str, votes: pd.DataFrame) -> None:
    plain = votes[votes.method == "mean"].groupby(["second_noise", "step"])
    color, shape = plain.kept_color.median(), plain.kept_shape.median()
    assert (
        f"agree in {whole(color[0.2, 0])} % of the weights on the colour and in {whole(shape[0.2, 0])} % of "
        "those on the shape"
    ) in text
    assert (
        f"agree in {whole(color[0.9, 0])} % of the weights on the colour and in {whole(shape[0.9, 0])} % of "
        "those on the shape"
    ) in text
    masked = votes[(votes.method == "and_mask") & (votes.second_noise == 0.2) & (votes.step == STEPS)]
    assert (
        f"{whole(masked.kept_color.median())} % and {whole(masked.kept_shape.median())} % at the end of the "
        "AND-mask's training"
    ) in text


def test_scores(text: str, root: Path) -> None:
    scores = pd.read_csv(root / "results" / SCORES)
    by = scores.groupby(["environments", "method"])
    medians, spread = by.inconsistency.median(), by.risk_spread.median()
    here, there = medians["training"], medians["with_test"]
    assert (
        f"{here['grayscale_mean']:.2g} for grey images, {here['mean']:.2g} for plain training and "
        f"{here['and_mask']:.2g} for the AND-mask"
    ) in text
    assert f"({spread['training', 'mean']:.2g} and {spread['training', 'and_mask']:.2g})" in text
    assert (
        f"IRM has the smaller difference of risks, {spread['training', 'irm_penalty']:.2g}, and the larger "
        f"inconsistency, {here['irm_penalty']:.2g}"
    ) in text
    others = there.drop("grayscale_mean")
    assert (
        f"{there['grayscale_mean']:.2g} for grey images and {others.min():.2g} to {others.max():.2g}" in text
    )
    largest = by.inconsistency.max()["training", "grayscale_mean"]
    rest = scores[(scores.environments == "training") & (scores.method != "grayscale_mean")].inconsistency
    assert largest < rest.min()
    assert "every seed of grey images is more consistent than every seed of the others" in text


def test_votes_once_the_penalty_acts(text: str, votes: pd.DataFrame) -> None:
    rows = votes[votes.method == "irm_penalty"].groupby("step")
    kept = rows.kept_color.median()
    first, middle, last = (whole(kept[step]) for step in (100, 150, STEPS))
    assert set(rows.size()) == {5}
    for part in (kept, rows.kept_shape.median()):
        assert part.loc[100:].is_monotonic_increasing and part[100] < part[0]
    assert (
        f"in {first}, {middle} and {last} % of the weights on the colour at steps 100, 150 and 200." in text
    )
