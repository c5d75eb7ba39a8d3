"""The numbers that docs/distillation.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import point, tenths, whole, word
from lab.experiments.distillation import ablations as hopper
from lab.experiments.distillation.claims import labels
from lab.experiments.distillation.game_of_life_results import THESIS, game_of_life
from lab.experiments.distillation.results import (
    DIMENSIONS,
    FIGURE_4_3,
    curves,
    lowest_within,
    mujoco,
    runs,
)
from lab.figures.holm import holm
from lab.figures.two_groups import welch


@pytest.fixture(scope="module")
def task_a(root: Path) -> pd.DataFrame:
    """Best test accuracies of task A over seeds, by dimensions and size."""
    table = runs(root / "results", "privileged")
    keys = ["dataset.dimensions", "n_train"]
    return table.pivot_table("best/test/accuracy", [*keys, "seed"], "row")


def test_task_a(text: str, task_a: pd.DataFrame) -> None:
    median = task_a.groupby(["dataset.dimensions", "n_train"]).median()
    worth = median.redrawn - median.no_teacher
    helped, other = worth[worth >= 0.05], worth[worth < 0.05]
    assert (
        f"five points or more in {len(helped)} of the {len(worth)} cells. In the other {len(other)}, " in text
    )
    sizes = sorted(set(median.index.get_level_values("n_train")))
    bounds = {256: 256, 512: 446}
    assert set(other.index) == {(d, n) for d, bound in bounds.items() for n in sizes if n < bound}
    assert "D = 256 with fewer than 256 examples and D = 512 with fewer than 446" in text
    assert median.loc[other.index, ["no_teacher", "redrawn"]].max(axis=None) < 0.54
    assert "both students' medians stay below 54 %." in text
    most = median.xs(1024, level="n_train")
    assert list(most.no_teacher.sort_values().index)[-1] == 64 and 0.89 < most.no_teacher[64] < 0.91
    assert most.no_teacher.drop(64).max() < 0.7
    assert f"With the redrawn split and a teacher, D = 512 comes to {whole(most.redrawn[512])} %." in text


def test_task_a_beside_the_drawing(text: str, root: Path) -> None:
    table = runs(root / "results", "privileged")
    means = table.groupby(["row", "dataset.dimensions", "n_train"])["best/test/accuracy"].mean()
    apart = [
        abs(means["redrawn" if method == "distill" else method, dimensions, n] - value)
        for method, by_size in FIGURE_4_3.items()
        for n, values in by_size.items()
        for dimensions, value in zip(DIMENSIONS, values, strict=True)
    ]
    assert max(apart) <= 0.05 and "There our means are within five points of it." in text


def test_task_a_with_a_fixed_split(text: str, task_a: pd.DataFrame) -> None:
    both = task_a.dropna()
    median, by_cell = (both.groupby(["dataset.dimensions", "n_train"]) for _ in range(2))
    middle = median.median()
    less = middle.fixed < middle.redrawn
    small, large = (by_cell.get_group((128, n)).fixed for n in (256, 512))
    assert (
        f"With such a split the teacher is worth less in {less.sum()} of the {len(middle)} cells: "
        "with D = 128, "
        f"{whole(small.median())} % with 256 examples ({tenths(small.min())} to {tenths(small.max())}) and "
        f"{whole(large.median())} % with 512 ({tenths(large.min())} to {tenths(large.max())}, redrawn "
        f"{tenths(middle.redrawn[128, 512])}); with D = 512, {whole(middle.fixed[512, 1024])} % with 1,024."
    ) in text
    others = middle[~less]
    assert (
        f"In the other {word(len(others))} cells no median is above {whole(others.max(axis=None))} %." in text
    )
    helped = int((middle.fixed - middle.no_teacher >= 0.05).sum())
    assert f"five points or more in {helped} of the {len(middle)}." in text


def test_mujoco(text: str, root: Path) -> None:
    made, over = (mujoco(root / "results", kind) for kind in ("runs", "curves"))
    ahead, gaps = [], []
    for name, rows in over.groupby("environment"):
        of = {row: table.groupby("step")["test/mse"].median() for row, table in rows.groupby("row")}
        steps = [step for step in of["fixed"].index if step in of["no_teacher"].index]
        behind = [s for s in steps if of["fixed"][s] > min(of["no_teacher"][s], of["auxiliary"][s])]
        ahead.append(next(step for step in steps if step > max(behind)))
        gap = (made["test/mse"] - made["train/mse"])[made.environment == name]
        gap = gap.groupby(made.row).median()
        gaps.append(gap["fixed"] / gap["no_teacher"])
    assert f"they are ahead after {min(ahead)} to {max(ahead):,} steps." in text
    assert f"is {whole(min(gaps))} to {whole(max(gaps))} % of the gap without a teacher" in text
    walker = over[over.environment == "Walker2d"]
    lowest = {row: lowest_within(walker, row, int(walker.step.max())) for row in set(walker.row)}
    worst = max(lowest["no_teacher"].max(), lowest["auxiliary"].max())
    assert (lowest["fixed"] > worst).sum() == 1 and len(lowest["fixed"]) == 5
    assert "On Walker2d one distilled seed of five is above both baselines." in text


def test_baselines_are_lowest_early_in_two_environments(text: str, root: Path) -> None:
    over = mujoco(root / "results", "curves")
    middle = over.groupby(["environment", "row", "step"])["test/mse"].median()
    cheetah, walker = (
        sorted(middle[name, row].idxmin() for row in ("no_teacher", "auxiliary"))
        for name in ("HalfCheetah", "Walker2d")
    )
    assert (
        f"by their medians after {cheetah[0]} and {cheetah[1]} steps, and after {walker[0]} and {walker[1]} "
        f"of {over[over.environment == 'Walker2d'].step.max():,}"
    ) in text


def test_what_the_teacher_needs(text: str, root: Path) -> None:
    table = hopper.ablations(root / "results")
    of = {case: rows.set_index("seed").lowest for case, rows in table.groupby("case")}
    none, whole_teacher = of["no teacher"], of[hopper.WHOLE]
    found = [
        welch(of[hopper.FROZEN], none),
        welch(of[hopper.noisy(16)], none),
        welch(of[hopper.REDRAWN], none),
        welch(of[hopper.SHUFFLED], whole_teacher),
        welch(of[hopper.SHUFFLED], none),
    ]
    corrected = holm([difference.p_value for difference in found])
    assert f"here it is better (corrected p = {point(corrected[2], 2)}), except for one seed." in text
    assert (of[hopper.REDRAWN] > none.min()).sum() == 1
    longer = of[f"{hopper.WHOLE}, 96 steps unrolled"]
    assert hopper.UNROLLED == 24 and longer.median() < whole_teacher.median()
    assert welch(whole_teacher, longer).p_value < 0.01
    assert "with 24 unrolled steps instead of 96, which costs some of the gain by itself." in text
    apart = of[hopper.SHUFFLED].median() - whole_teacher.median()
    p_value = point(found[3].p_value, 2)
    assert f"shuffled time is {point(apart, 4)} worse than the whole teacher, with p = {p_value}." in text


def test_the_game_of_life(text: str, root: Path) -> None:
    table = game_of_life(root / "results", "runs")
    small = table[table.game != THESIS]
    best = small.groupby(["row", "n_train"])["best/test/accuracy"].median()
    last = small.groupby(["row", "n_train"])["test/accuracy"].median()
    assert last["no_teacher"].max() < 0.67
    of_many = [whole(best[f"learned {begun}", 1024]) for begun in ("spread", "even")]
    of_few = [whole(best[f"learned {begun}", 512]) for begun in ("spread", "even")]
    assert (
        f"{of_many[0]} and {of_many[1]} % with 1,024 examples, {of_few[0]} and {of_few[1]} % with 512"
    ) in text
    even, spread = best["random even"], best["random spread"]
    assert f"it brings {whole(even.min())} to {whole(even.max())} %." in text
    assert f"it brings {whole(spread.min())} to {whole(spread.max())} %." in text
    learned = max(best[f"learned {begun}", 1024] for begun in ("spread", "even"))
    assert whole(spread[1024]) == whole(learned)
    assert f"With 1,024 examples its {whole(spread[1024])} % are as good as the learned teacher's." in text
    most = small[small.n_train == 2048].groupby("row")["best/test/accuracy"]
    p_value = welch(most.get_group("learned spread"), most.get_group("random spread")).p_value
    assert f"(p = {point(p_value, 2)} with 2,048 examples)" in text
    larger = table[table.game == THESIS].set_index("row")["test/accuracy"]
    assert f"the student memorises ({whole(larger['no_teacher'])} % at the end)" in text


def test_the_oracle_learns_the_game(text: str, root: Path) -> None:
    over = game_of_life(root / "results", "curves")
    oracle = over[over.row == "oracle"]
    small = oracle[(oracle.game != THESIS) & (oracle.step == 960)]["test/accuracy"]
    assert len(small) == 9
    assert f"with each size: after 960 steps the lowest seed has {whole(small.min())} %." in text
    large = oracle[oracle.game == THESIS].set_index("step")["test/accuracy"]
    assert f"learns the game too (99 % after {large[large >= 0.99].index.min():,} steps)" in text


def test_noisy_labels_as_the_thesis_describes_them(text: str, root: Path) -> None:
    table = runs(root / "results", "labels")
    found = {setting: labels.cell(table, *setting) for setting in (labels.THESIS, *labels.VARIANTS)}
    here = found.pop(labels.THESIS)
    assert here is not None and here.highest < here.lowest
    worst, best = point(here.highest, 3), point(here.lowest, 3)
    assert f"than the best seed of every other method ({worst} against {best})." in text
    assert f"and here it has {whole(here.highest / here.lowest)} % of it." in text
    assert all(cell is not None and cell.highest <= labels.HALF * cell.lowest for cell in found.values())
    assert f"By the medians the ratio is {point(here.distilled / here.other, 2)} here." in text


def test_forgetting_without_a_teacher(text: str, root: Path) -> None:
    over = curves(root / "results", "labels")
    rows = over[(over.row == "no_teacher") & (over["dataset.logits_factor"] == 1)]
    middle = rows.groupby("step")["test/kl"].median()
    assert middle.idxmin() <= 50 and "rises again after at most 50 steps" in text


def test_a_teacher_that_stays_as_it_begins(text: str, root: Path) -> None:
    over = curves(root / "results", "labels")
    for factor, rows in over.groupby("dataset.logits_factor"):
        lowest = rows.groupby(["seed", "row"])["test/kl"].min().unstack()
        last = rows[rows.step == rows.step.max()].pivot(index="seed", columns="row", values="test/kl")
        assert len(lowest) == len(last) == 10
        assert (lowest.random > lowest.no_teacher).all(), factor
        assert (last.random < last.no_teacher).all(), factor
    assert set(over["dataset.logits_factor"]) == {1, 3}
    assert (
        "the student's lowest KL is above that of the student without a teacher, in each seed. It stays near "
        "even odds, so at the end it is better than the student that forgets."
    ) in text
