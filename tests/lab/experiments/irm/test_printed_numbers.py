"""The numbers that docs/irm.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.page_text import whole, word
from lab.experiments.irm.claims.stability import AT_ONCE
from lab.experiments.irm.cue import COWS, LABEL_NOISE, THRESHOLD, read_cue
from lab.experiments.irm.results import EXPLAINER_WEIGHTS, colored_runs, passes, stability_runs
from lab.experiments.irm.selection import selected


def test_fewer_images(text: str, root: Path) -> None:
    curves = colored_runs(root / "results", "curves").sort_values("step")
    chosen = {
        (row, seed): selected(curve, "validation_environment")["test/accuracy"]
        for (row, seed), curve in curves.groupby(["row", "seed"])
    }
    test = pd.Series(chosen)
    shown = {row: whole(test[row].median()) for row in ("and_mask", "mean", "irm_penalty", "grayscale_mean")}
    assert (
        f"the AND-mask's median test accuracy is {shown['and_mask']} %, plain training's {shown['mean']} %, "
        f"IRM's {shown['irm_penalty']} % and the grey oracle's {shown['grayscale_mean']} %."
    ) in text
    of_irm = test["irm_penalty"]
    assert f"IRM's seeds differ widely ({whole(of_irm.min())} to {whole(of_irm.max())} %)" in text


def test_stability(text: str, root: Path) -> None:
    runs = stability_runs(root / "results")
    counts = runs.groupby("schedule").outcome.value_counts().unstack(fill_value=0)
    n = counts.sum(axis=1)
    assert n["ramp 1.6"] == 20 and set(n.drop("ramp 1.6")) == {10}
    constant = counts.loc[list(AT_ONCE)]
    assert not constant.success.any()
    assert "No constant weight passes the bar in any of its 10 seeds." in text
    assert (constant.plain[["constant 1", "constant 10"]] == 10).all()
    assert constant.between["constant 100"] == 10
    none = int(constant.sum(axis=1).sum())
    possible = 1 - 0.025 ** (1 / 10)
    assert (
        f"none of these {none} runs passes; 0 of 10 leaves a share of at most {whole(possible)} % possible"
    ) in text
    large = constant.collapsed[["constant 231", "constant 1000", "constant 10000", "constant 100000"]]
    assert f"From 231 on {large.min()} to {large.max()} of 10 seeds collapse." in text
    passed, collapsed = counts.success, counts.collapsed
    assert not collapsed[["step 231", "ramp 1.6", "ramp 8", "step 10"]].any()
    shown = f"{passed['step 231']} of 10 seeds (step) and {passed['ramp 1.6']} of 20 (ramp) pass the bar."
    assert f"no seed collapses, and {shown}" in text
    far = "step 10000"
    later = runs[(runs.schedule == far) & (runs.outcome == "success") & runs.warning.notna()]
    assert f"A jump to 10,000 passes in {passed[far]} of 10 seeds." in text
    assert len(later) == 1 and "The outputs of one of these become constant later, and it counts" in text
    assert f"{word(collapsed[far]).capitalize()} others collapse." in text
    assert not passed[["step 10", "ramp 8"]].any()
    assert "A jump to 10 and the late ramp do not pass in any seed." in text
    ramp = runs[runs.schedule == "ramp 1.6"]
    assert f"Of the ramp's seeds, {whole(ramp.passed.mean())} % pass, so" in text
    at_the_end = passes(ramp).sum()
    assert f"at the last evaluation {at_the_end} of the ramp's seeds are above it." in text
    assert passes(runs[runs.passed]).mean() < 0.5


def test_cows_and_camels(text: str, root: Path) -> None:
    cows = read_cue(root / "results")
    cows = cows[cows[LABEL_NOISE] == COWS]
    assert set(cows[THRESHOLD].value_counts()) == {10} and "medians of 10 seeds" in text
    medians = cows.groupby(THRESHOLD)[["train/accuracy", "test/accuracy"]].median()
    test, train = medians["test/accuracy"], medians["train/accuracy"]
    assert f"its test accuracy is {whole(test[0.0])} %." in text
    assert test[:0.5].is_monotonic_decreasing and test[0.6] > test[0.5]
    assert f"up to 0.5 it follows the colour more: there the test accuracy is {whole(test[0.5])} %" in text
    assert f"is {whole(test[0.5])} %, and a prediction by the colour alone is right in" in text
    assert {whole(value) for value in train[0.7:]} == {"51"}
    assert "From 0.7 on the training accuracy is 51 %" in text


def test_the_linear_example(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "irm" / "linear_runs.csv")
    weights = [f"weight/{i}" for i in range(4)]
    spread = runs[runs.aggregator == "mean"][weights[:2]].std()
    assert f"standard deviation over seeds is {spread.min():.3f} to {spread.max():.3f}." in text
    assert "The explainer's 0.649 and 0.691 are one draw" in text
    assert EXPLAINER_WEIGHTS["mean"][:2] == (0.649, 0.691)
    for name, theirs in EXPLAINER_WEIGHTS.items():
        ours = runs[runs.aggregator == name][weights]
        assert ((ours.mean() - pd.Series(theirs, weights)).abs() < 2 * ours.std()).all(), name
    assert "both are within two standard deviations over seeds of the explainer's one seed" in text
    own = pd.read_csv(root / "results" / "irm" / "explainer_runs.csv")
    assert set(own.aggregator.value_counts()) == {10} and "ten seeds have means of" in text
    for name, words in (("irm_penalty", "IRM"), ("mean", "plain training")):
        means = ", ".join(f"{mean:.3f}" for mean in own[own.aggregator == name][weights].mean())
        assert f"({means}) for {words}" in text


def test_searches(text: str, root: Path) -> None:
    folder = root / "results" / "irm" / "search"
    n = {}
    for name in ("irm", "mean", "grayscale"):
        trials = pd.read_csv(folder / f"colored_digits_{name}_trials.csv")
        assert set(trials.state) == {"COMPLETE"}
        assert trials.command.str.contains(r"seed=1000\b").all()
        n[name] = len(trials)
    assert n["mean"] == n["grayscale"]
    assert (
        f"{n['irm']} trials of IRM, {n['mean']} each of plain training and of grey images, seed 1000" in text
    )
