"""The gate, the verdicts, and figures and table drawn from made-up runs of either domain or both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from docs.page_text import table_cells
from lab.experiments.skip_intervals.claims.comparison import NOT_SEARCHED, claims
from lab.experiments.skip_intervals.curves_drawing import draw_over_epochs, draw_over_evaluations
from lab.experiments.skip_intervals.figures.skip_intervals_methods import tabulate
from lab.experiments.skip_intervals.results import (
    CALLS,
    FOLDER,
    METHODS,
    SCORE,
    TRAINED,
    bar,
    best_shortcut,
    passes,
)
from lab.figures.claims import kind_of

SHARED = {
    "data_source": "made up",
    "stopped": "completed",
    "train/model_evaluations": 1000,
    "shortcut/most frequent label": 0.58,
    "shortcut/room nearest the runner": 0.43,
    "final/validation/accuracy_soft": 0.9,
    "final/validation/blank": 0.1,
    "best/validation/accuracy": 0.95,
}
SPREAD = (0.0, 0.02, -0.02, 0.01, -0.01)


def table(means: dict[str, float], seeds: int = 5, calls: float = 8.0) -> pd.DataFrame:
    """Runs with these mean accuracies by method; adaptive ones with so many calls, all others with 10."""
    rows = [
        SHARED
        | {"method": method, "seed": seed, SCORE: mean + SPREAD[seed]}
        | {CALLS: (calls if method == "adaptive" else 10.0) + SPREAD[seed]}
        for method, mean in means.items()
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def write(results: Path, domain: str, runs: pd.DataFrame) -> Path:
    (results / FOLDER).mkdir(parents=True, exist_ok=True)
    runs.to_csv(results / FOLDER / f"{domain}_runs.csv", index=False)
    epochs = np.arange(1, 5)
    curves = [
        {
            "method": run.method,
            "seed": run.seed,
            "epoch": epoch,
            "train/model_evaluations": 10 * epoch + run.seed,
        }
        | {"validation/accuracy": epoch / 5}
        for run in runs.itertuples()
        for epoch in epochs
    ]
    pd.DataFrame(curves).to_csv(results / FOLDER / f"{domain}_curves.csv", index=False)
    return results


def test_the_bar_is_ten_points_above_the_best_shortcut() -> None:
    runs = table({"adaptive": 0.9})
    assert best_shortcut(runs) == ("most frequent label", pytest.approx(0.58))
    assert bar(runs) == pytest.approx(0.68)
    runs["shortcut/room nearest the runner"] = 0.6 + runs.seed / 10  # Every seed has its own trajectories.
    assert best_shortcut(runs) == ("room nearest the runner", pytest.approx(0.8))


@pytest.mark.parametrize(
    ("seeds", "means", "passed"),
    [
        (3, {"adaptive": 0.71}, True),
        (3, {"adaptive": 0.69}, False),  # one of the three is below
        (2, {"adaptive": 0.9}, False),
        (3, {"adaptive": 0.6, "fixed_2": 0.75}, True),  # any method will do
    ],
)
def test_the_gate_asks_for_each_of_three_seeds(seeds: int, means: dict[str, float], passed: bool) -> None:
    assert passes(table(means, seeds)) == passed


def verdicts(results: Path) -> dict[str, str]:
    return {claim.short: kind_of(claim.verdict) for claim in claims(results)}


BEATS, CHEAPER, RANDOM = (
    "Adaptive skips beat fixed steps (room runner)",
    "Adaptive skips save evaluations (room runner)",
    "Random matches at first help (room runner)",
)
WITHOUT = "adaptive_without_exploration"


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (
            {"adaptive": 0.9, WITHOUT: 0.8, "fixed_1": 0.5, "fixed_2": 0.8},
            {BEATS: "in part", CHEAPER: "in part", RANDOM: "in part"},
        ),
        # Judged against every fixed step: one that is better is enough to say no. Calls are another claim.
        (
            {"adaptive": 0.8, WITHOUT: 0.9, "fixed_1": 0.5, "fixed_2": 0.9},
            {BEATS: "not reproduced", CHEAPER: "in part", RANDOM: "not reproduced"},
        ),
        (
            {"adaptive": 0.8, WITHOUT: 0.8, "fixed_1": 0.805},
            {BEATS: "undecided", CHEAPER: "undecided", RANDOM: "undecided"},
        ),
        # Below the gate nothing is compared, however far apart.
        (
            {"adaptive": 0.65, WITHOUT: 0.3, "fixed_1": 0.3},
            {BEATS: "undecided", CHEAPER: "undecided", RANDOM: "undecided"},
        ),
        ({"adaptive": 0.9, "fixed_1": 0.5}, {BEATS: "in part", CHEAPER: "in part"}),
        ({"adaptive": 0.9, WITHOUT: 0.5}, {RANDOM: "in part"}),
    ],
)
def test_verdicts(runs: dict[str, float], expected: dict[str, str], tmp_path: Path) -> None:
    assert verdicts(write(tmp_path, "room_runner", table(runs))) == expected


def test_as_many_evaluations_are_no_saving(tmp_path: Path) -> None:
    write(tmp_path, "room_runner", table({"adaptive": 0.9, "fixed_1": 0.5}, calls=12.0))
    assert verdicts(tmp_path) == {BEATS: "in part", CHEAPER: "not reproduced"}
    # With noise those in training are counted, however many a rollout has.
    runs = table({"adaptive": 0.9, "fixed_1": 0.5}, calls=12.0)
    runs[TRAINED] = np.where(runs.method == "adaptive", 500, 1000) + runs.seed
    write(tmp_path, "room_runner_noisy", runs)
    found = {claim.short: claim.verdict for claim in claims(tmp_path)}
    noisy = found[CHEAPER.replace("room runner", "noisy room runner")]
    assert noisy == f"in part: {NOT_SEARCHED}"
    assert found[CHEAPER] == "not reproduced: not against steps of 1 frame"


def test_claims_wait_for_runs_and_say_who_draws_trajectories(tmp_path: Path) -> None:
    runs = table({"adaptive": 0.9, "fixed_1": 0.5})
    assert all("share one draw" in claim.ours for claim in claims(write(tmp_path, "room_runner", runs)))
    runs["dataset.generation_seed"] = runs.seed
    waits = pd.DataFrame({"method": ["fixed_2"], "seed": 0, "stopped": "pending"})
    write(tmp_path, "room_runner", pd.concat([runs, waits]))
    found = claims(tmp_path)
    assert {claim.verdict for claim in found} == {"pending: 10 of 11 runs are done"}
    assert {claim.number for claim in found} == {"10 of 11 runs"}
    assert all("draws its own trajectories" in claim.ours for claim in found)
    # A claim waits only for the runs that it compares.
    silent = table({WITHOUT: 0.5}).assign(**{"dataset.generation_seed": range(5)})
    write(tmp_path, "room_runner", pd.concat([runs, silent, waits]))
    assert verdicts(tmp_path) == {BEATS: "pending", CHEAPER: "pending", RANDOM: "in part"}
    assert claims(write(tmp_path / "none", "room_runner", waits)) == []


def test_single_seeds_and_a_domain_without_runs_are_no_findings(tmp_path: Path) -> None:
    assert claims(tmp_path) == []
    write(tmp_path, "room_runner", table({"adaptive": 0.9, "fixed_1": 0.5}))
    write(tmp_path, "funnel_board", table({"adaptive": 0.9, "fixed_1": 0.5}, seeds=1))
    found = claims(tmp_path)
    assert [kind_of(claim.verdict) for claim in found] == ["in part", "in part", "undecided", "undecided"]
    assert all("68 %" in claim.verdict for claim in found[2:])
    for claim, columns in zip(found[:2], (1, 2), strict=True):
        head, adaptive, fixed = table_cells(claim.table)
        assert head[1] == "n" and adaptive[1] == fixed[1] == "5"
        assert adaptive[-columns:] == [""] * columns and "" not in fixed[-columns:]


def test_less_than_three_seeds_of_one_method_are_not_compared(tmp_path: Path) -> None:
    runs = pd.concat([table({"adaptive": 0.9}), table({"fixed_1": 0.5, WITHOUT: 0.5}, seeds=2)])
    found = claims(write(tmp_path, "room_runner", runs))
    assert [claim.verdict for claim in found] == ["undecided: a method has 2 of the 3 seeds needed"] * 3


def test_trajectories_of_their_own_are_compared_in_pairs(tmp_path: Path) -> None:
    """Seeds differ far more than methods do, and the seeds that one method lacks are the easy ones."""
    seeds = np.arange(6)
    runs = table({"adaptive": 0.5}).iloc[[0] * 6].reset_index(drop=True).assign(seed=seeds)
    runs[SCORE] = 0.7 + seeds / 20
    silent = runs.iloc[:5].assign(method=WITHOUT, **{SCORE: runs[SCORE] - 0.01 - seeds / 1000})
    both = pd.concat([silent, runs])
    both["dataset.generation_seed"] = both.seed
    own = claims(write(tmp_path, "room_runner_noisy", both))[0]
    assert own.number.startswith("+1.2 points")
    assert own.verdict == f"in part: {NOT_SEARCHED}"
    assert "a paired t test over the seeds of both" in own.ours
    shared = claims(write(tmp_path, "room_runner", both.drop(columns="dataset.generation_seed")))[0]
    assert shared.number.startswith("+3.7 points") and shared.verdict == "undecided"
    # Two seeds of both are too few, however many each has.
    write(
        tmp_path,
        "room_runner_noisy",
        pd.concat([silent, runs.iloc[3:]]).assign(**{"dataset.generation_seed": lambda table: table.seed}),
    )
    assert claims(tmp_path)[1].verdict == "undecided: a method has 2 of the 3 seeds needed"


def test_adaptive_runs_of_a_domain_alone_make_no_claim(tmp_path: Path) -> None:
    assert claims(write(tmp_path, "funnel_board", table({"adaptive": 0.9}, seeds=2))) == []


@pytest.mark.parametrize("domains", [("room_runner",), ("room_runner", "funnel_board")])
def test_every_seed_is_drawn(domains: tuple[str, ...], tmp_path: Path) -> None:
    methods = dict.fromkeys(METHODS, 0.8)
    for domain in domains:
        write(tmp_path, domain, table(methods))
    figure = draw_over_epochs(tmp_path)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    panels = 1 + len(METHODS)
    assert len(shown) == panels * len(domains)
    seeds, lines = 5, 2  # the mean, and the two horizontal lines
    for number, axes in enumerate(shown):
        expected = len(METHODS) + lines if number % panels == 0 else seeds + 1 + lines
        assert len(axes.lines) == expected
    for axes in draw_over_evaluations(tmp_path).axes[1::2]:
        points = [len(np.asarray(scatter.get_offsets())) for scatter in axes.collections]
        assert points == [seeds] * len(METHODS)
    assert len(tabulate(tmp_path)) == len(METHODS) * len(domains)


def test_panels_of_methods_without_runs_are_left_out(tmp_path: Path) -> None:
    figure = draw_over_epochs(
        write(tmp_path, "room_runner", table({"adaptive": 0.9, "fixed_1": 0.7, "fixed_2": 0.8}))
    )
    assert [axes.get_visible() for axes in figure.axes] == [True] * 4 + [False] * 2
    row = tabulate(tmp_path).iloc[0]
    assert (row["hard accuracy"], row["seeds above the bar"]) == ("90.0 (88.0 to 92.0)", "5 of 5")
