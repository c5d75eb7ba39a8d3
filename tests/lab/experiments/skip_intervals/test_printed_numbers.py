"""The numbers that docs/skip_intervals.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from docs.page_text import point, tenths, whole
from lab.experiments.skip_intervals.differences import difference
from lab.experiments.skip_intervals.results import (
    AHEAD,
    CALLS,
    SCORE,
    TRAINED,
    best_shortcut,
    curves,
    runs,
    trials,
)
from lab.experiments.skip_intervals.rollouts_drawing import skips
from lab.experiments.skip_intervals.room_runner import RoomRunner
from lab.figures.two_groups import signs, welch


@pytest.fixture(scope="module")
def room(root: Path) -> pd.DataFrame:
    return runs(root / "results", "room_runner")


@pytest.fixture(scope="module")
def over(root: Path) -> pd.DataFrame:
    return curves(root / "results", "room_runner")


def test_the_gap_and_the_standard_error(text: str, room: pd.DataFrame) -> None:
    means = room.groupby("method")[SCORE].mean()
    gap = means["adaptive"] - means["fixed_3"]
    error = (means["adaptive"] * (1 - means["adaptive"]) / 300) ** 0.5
    said = f"is {tenths(error)} point, more than the difference between adaptive skips and three frames"
    assert f"{said} ({point(100 * gap, 1)})" in text and error > gap


def test_the_best_evaluations(text: str, over: pd.DataFrame) -> None:
    best = over[over.method != "fixed_1"].groupby(["method", "seed"])["validation/accuracy"].max()
    assert f"have evaluations at {tenths(best.min())} % and more in every seed" in text


def test_before_the_feedback(text: str, over: pd.DataFrame) -> None:
    early = over[over.epoch.between(26, 30)].groupby(["method", "seed"])["validation/accuracy"].mean()
    of = {method: early[method] for method in ("adaptive", "fixed_2", "fixed_3")}
    adaptive, two = of["adaptive"], of["fixed_2"]
    seeds = {name: f"{tenths(of[name].min())} to {tenths(of[name].max())}" for name in of}
    assert (
        f"right in {tenths(adaptive.mean())} % of the rollouts of adaptive skips (seeds "
        f"{seeds['adaptive']}), {tenths(two.mean())} % of those of two frames ({seeds['fixed_2']}), and "
        f"{tenths(of['fixed_3'].mean())} % of those of three frames."
    ) in text
    silent = early["adaptive_without_exploration"].mean()
    assert f"is better ({tenths(silent)} %)" in text and silent > adaptive.mean()


def test_random_matches(text: str, room: pd.DataFrame) -> None:
    scores = {method: rows[SCORE] for method, rows in room.groupby("method")}
    p_value = welch(scores["adaptive"], scores["adaptive_without_exploration"]).p_value
    assert f"Random matches at first help at the end (p = {point(p_value, 3)})." in text


def test_searches(text: str, root: Path) -> None:
    fixed = trials(root / "results")["fixed_2"]
    options = [column for column in fixed if "." in str(column) and "/" not in str(column)]
    assert len(fixed) - len(fixed[options].drop_duplicates()) == 1
    assert "Two of the nine configurations of a fixed step are equal, so only eight differ." in text


def test_after_the_feedback(text: str, over: pd.DataFrame) -> None:
    best = over[over.epoch > 30].groupby(["method", "seed"])["validation/accuracy"].max()
    early = over[over.epoch.between(26, 30) & (over.method == "adaptive")]["validation/accuracy"].mean()
    for method in ("fixed_2", "fixed_3"):
        assert best[method].median() > early
    assert f"those of one frame stay at {tenths(best['fixed_1'].max())} % or below." in text


def test_calls_in_training(text: str, over: pd.DataFrame) -> None:
    calls = over.groupby(["method", "seed"])["train/model_evaluations"].max().groupby("method").mean()
    more = {name: whole(calls["adaptive"] / calls[name] - 1) for name in ("fixed_1", "fixed_2", "fixed_3")}
    assert (
        f"adaptive skips have {more['fixed_1'].removeprefix('-')} % fewer than steps of one frame, "
        f"{more['fixed_2']} % more than steps of two and {more['fixed_3']} % more than steps of three."
    ) in text


def test_an_unsteady_end(text: str, over: pd.DataFrame, room: pd.DataFrame) -> None:
    worst = room[room.method == "fixed_2"].set_index("seed")[SCORE].idxmin()
    two = over[(over.method == "fixed_2") & (over.seed == worst)].sort_values("epoch")
    accuracy = two["validation/accuracy"].reset_index(drop=True)
    best, lowest, end = accuracy.max(), accuracy[accuracy.idxmax() :].min(), accuracy.iloc[-1]
    assert (
        f"One seed of two-frame steps falls from {tenths(best)} to {tenths(lowest)} % and ends at "
        f"{tenths(end)} %."
    ) in text


def test_the_funnel_board(text: str, root: Path) -> None:
    made = runs(root / "results", "funnel_board")
    assert (made[SCORE] > best_shortcut(made)[1] + AHEAD).all() and len(made) == 3
    assert set(made.method) == {"adaptive"}
    over = curves(root / "results", "funnel_board").sort_values("epoch")
    last = over.groupby("seed").tail(5)["validation/accuracy"]
    said = f"among the last five lie between {whole(last.min())} and {whole(last.max())} %"
    assert said in text
    data = pd.read_csv(root / "results" / "skip_intervals" / "data.csv").set_index("dataset")
    same = data.same_label_when_perturbed["funnel_board"]
    assert f"(same label under perturbed physics: {tenths(same)} %)" in text


def test_rollouts(text: str, root: Path) -> None:
    with np.load(root / "results" / "skip_intervals" / "room_runner_rollouts.npz") as file:
        found = dict(file)
    ahead = np.concatenate(skips(found["times"], found["calls"]))
    assert (
        f"Skips of every length from {ahead.min()} to the horizon of {ahead.max()} occur, {ahead.mean():.1f} "
        "frames on average."
    ) in text
    assert set(ahead) == {*range(1, 6)}
    first = torch.tensor(found["frames"][:, 0]).float()
    rule = RoomRunner.__new__(RoomRunner)  # The rule that reads a label needs no trajectories.
    predicted = torch.tensor(found["predicted"]).float() / 255
    evidence = torch.stack([rule.evidence(frames, first) for frames in predicted.unbind(1)]).sum(0)
    right = (evidence.argmax(1).numpy() == found["labels"][: len(first)]).sum()
    assert f"comes to the right room in {right} of {len(first)}." in text


def test_adaptive_skips_beside_fixed_steps(text: str, room: pd.DataFrame) -> None:
    """The first sentence compares accuracies, the second one the calls per rollout."""
    fixed = ("fixed_1", "fixed_2", "fixed_3")
    more, calls = (
        signs([difference(room, room[room.method == method], column) for method in fixed])
        for column in (SCORE, CALLS)
    )
    assert more == [1, 0, 0]
    assert (
        "With Welch's test and Holm's correction for three fixed steps, adaptive skips are more accurate "
        "than steps of one frame. Against two and three frames it is open."
    ) in text
    assert calls == [-1, -1, 1]
    assert "Adaptive skips need fewer than steps of one and of two frames, the two that" in text
    assert "searched, and more than steps of three." in text


def test_the_noisy_room_runner(text: str, root: Path) -> None:
    noisy, over = (read(root / "results", "room_runner_noisy") for read in (runs, curves))
    assert noisy.groupby("method").size().eq(5).all() and noisy.method.nunique() == 7
    of = dict(tuple(noisy.groupby("method")))
    score, calls, trained = (
        {name: one[key].mean() for name, one in of.items()} for key in (SCORE, CALLS, TRAINED)
    )
    thousands = {name: f"{round(mean, -3):,.0f}" for name, mean in trained.items()}
    longer = ("fixed_3", "fixed_4", "fixed_5")
    shown = [tenths(score[name]) for name in longer]
    assert (
        f"end at {shown[0]}, {shown[1]} and {shown[2]} % and adaptive skips at "
        f"{tenths(score['adaptive'])} %; none of these differences is sure."
    ) in text
    fixed = [name for name in of if name.startswith("fixed")]
    sure = dict(zip(fixed, signs([difference(noisy, of[name], SCORE) for name in fixed]), strict=True))
    assert [sure[name] for name in longer] == [0, 0, 0]
    assert (
        f"per rollout ({calls['fixed_4']:.1f} and {calls['fixed_5']:.1f} against {calls['adaptive']:.1f}) "
        f"and in training ({thousands['fixed_4']} and {thousands['fixed_5']} against {thousands['adaptive']})"
    ) in text
    blank = 100 * of["fixed_1"]["final/validation/blank"].mean()
    assert (
        f"at the end {tenths(score['fixed_1'])} % of their rollouts are right, because {blank:.1f} %" in text
    )
    early = over[over.epoch.between(26, 30)].groupby("method")["validation/accuracy"].mean()
    best = early[fixed].idxmax()
    assert best == "fixed_5"
    assert (
        f"their label is right in {tenths(early['adaptive'])} % of the rollouts, and at most in "
        f"{tenths(early[best])} % with fixed steps (five frames)."
    ) in text
    silent = difference(noisy, of["adaptive_without_exploration"], SCORE)
    said = f"bring {100 * silent.value:.1f} points, which five pairs of seeds do not tell from zero"
    assert f"{said} (p = {point(silent.p_value, 3)})" in text
