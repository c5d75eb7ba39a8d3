"""The numbers that docs/coinrun.md prints in its sentences are those of the committed results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import point, tenths, whole, word
from lab.experiments.coinrun.finalists import (
    FINALISTS,
    FINALISTS_LEVELS,
    comparisons,
    corrected,
    seeds_that_decide,
)
from lab.experiments.coinrun.number_of_levels import comparisons as by_levels
from lab.experiments.coinrun.number_of_levels import read_number_of_levels
from lab.experiments.coinrun.trials import TOP, UNMASKED, read_trials

MASK = "temporal_mask"
SHORT, LONG = 8, 32
"""The two budgets in epochs of 64 steps."""


@pytest.fixture(scope="module")
def trials(root: Path) -> pd.DataFrame:
    return read_trials(root / "results")


@pytest.fixture(scope="module")
def ends(root: Path) -> pd.DataFrame:
    """The last evaluation of each finalist, on 1,000 test states and on training levels."""
    rows = seeds_that_decide(pd.read_csv(root / "results" / FINALISTS))
    last: pd.DataFrame = rows[rows.epoch == rows.groupby("epochs").epoch.transform("max")]
    return last


@pytest.fixture(scope="module")
def levels(root: Path) -> pd.DataFrame:
    return seeds_that_decide(pd.read_csv(root / "results" / FINALISTS_LEVELS))


def test_both_sets_of_test_states(text: str, ends: pd.DataFrame, levels: pd.DataFrame) -> None:
    keys = ["epochs", "method"]
    half, all_states = (rows.groupby(keys)["test/kl"].mean() for rows in (ends, levels))
    lower = all_states - half
    assert f"the means are lower by {point(lower.min(), 3)} to {point(lower.max(), 3)}" in text
    for epochs in (SHORT, LONG):
        assert list(half[epochs].sort_values().index) == list(all_states[epochs].sort_values().index)
    assert "and the order is the same" in text


def test_intervals_and_corrected_p_values(text: str, root: Path) -> None:
    found = comparisons(root / "results")
    every = [one for by_other in found.values() for one in by_other.values()]
    assert len(every) == 4 and not any(one.interval[0] <= 0 <= one.interval[1] for one in every)
    assert "None of the four intervals contains 0." in text
    p_values = {steps: set(by_other.values()) for steps, by_other in corrected(found).items()}
    assert max(p_values[2048]) < 0.05
    assert {point(p_value, 3) for p_value in p_values[512]} == {".051"}
    assert "both differences at 2,048 steps are significant at the level of 5 %" in text
    assert "both at 512 steps are not (p = .051)" in text


def test_seeds_on_which_the_mask_is_ahead(text: str, levels: pd.DataFrame) -> None:
    means = levels.groupby(["epochs", "seed", "method"])["test/kl"].mean().unstack()
    ahead = {other: (means[MASK] < means[other]).groupby("epochs").sum() for other in ("adam", UNMASKED)}
    assert ahead["adam"][SHORT] == ahead[UNMASKED][SHORT] == 5
    assert "than its own settings without it, on each of the five seeds" in text
    assert levels[levels.epochs == LONG].seed.nunique() == 15
    assert (
        f"than Adam on {word(ahead['adam'][LONG])} of fifteen seeds, and than its own settings without it on "
        f"{word(ahead[UNMASKED][LONG])}."
    ) in text


def test_training_levels_and_the_gap(text: str, ends: pd.DataFrame, levels: pd.DataFrame) -> None:
    train = ends.groupby(["epochs", "method"])["train/kl"].mean()
    test = levels.groupby(["epochs", "method"])["test/kl"].mean()
    short, long = ([point(train[epochs][name], 4) for name in (MASK, "adam")] for epochs in (SHORT, LONG))
    assert (
        f"(at 512 steps the mask has {short[0]} and Adam {short[1]}, at 2,048 steps {long[0]} and {long[1]})"
    ) in text
    mask, adam = (point(test[LONG][name] - train[LONG][name], 3) for name in (MASK, "adam"))
    assert f"({mask} against {adam} at 2,048 steps)" in text and mask >= adam


def test_weight_decay_and_thresholds_of_the_best(text: str, trials: pd.DataFrame) -> None:
    best = {name: group[group["rank"] <= TOP] for name, group in trials.groupby("method")}
    decay = {name: group["optimizer.weight_decay"] for name, group in best.items()}
    adam = trials[trials.method == "adam"]
    more = adam[adam["optimizer.weight_decay"] > 0.01]
    assert (
        f"more weight decay ({point(decay[MASK].min(), 3)} to {point(decay[MASK].max(), 3)}) than Adam's (at "
        f"most {point(decay['adam'].max(), 4)}; {len(more)} of Adam's {len(adam)} trials had more than .01, "
        f"and the best of these has a KL of {point(more['validation/kl'].min(), 3)} on validation levels)"
    ) in text
    tau, beta = best[MASK]["aggregator.agreement_threshold"], best[MASK]["aggregator.beta_3"]
    kept = best[MASK]["mask/density"]
    assert (
        f"thresholds of {point(tau.min(), 2)} to {point(tau.max(), 2)} and beta_3 of {point(beta.min(), 2)} "
        f"to {point(beta.max(), 2)}, and keep {whole(kept.min())} to {whole(kept.max())} % of the components"
    ) in text
    masked = trials[trials.method == MASK]
    high = masked[masked["aggregator.agreement_threshold"] >= 0.36]["validation/kl"]
    best_of_all = point(masked["validation/kl"].min(), 3)
    assert (
        f"The best of our {word(len(high))} trials with a threshold of .36 or more reached "
        f"{point(high.min(), 3)} on validation levels, the best of all {best_of_all}."
    ) in text


def test_play(text: str, root: Path) -> None:
    play = pd.read_csv(root / "results" / "coinrun" / "finalists_play.csv")
    own = seeds_that_decide(play[play.method.notna()])
    students = own[own.epochs == LONG].groupby("method").success_rate
    words = {
        name: (tenths(rates.mean()), f"{tenths(rates.min())} to {tenths(rates.max())}")
        for name, rates in students
    }
    others = play[play.method.isna()].set_index("player").success_rate
    assert (
        "the students of the best configuration on the fifteen later seeds solve "
        f"{words[MASK][0]} % of 300 unseen levels (mask, {words[MASK][1]}), "
        f"{words['adam'][0]} % (Adam, {words['adam'][1]}) and {words[UNMASKED][0]} % (mask's settings "
        f"without it, {words[UNMASKED][1]}). All play the same levels. The expert solves "
        f"{tenths(others['expert'])} %, random play {tenths(others['random play'])} %"
    ) in text
    assert set(play.levels) == {300} and students.size().eq(15).all()


def test_the_finished_expert(text: str, root: Path) -> None:
    sheet = json.loads((root / "src/lab/experiments/coinrun/shipped/expert.json").read_text())
    first, last = sheet["levels_evaluated_on"]
    assert (
        f"trained on {sheet['frames']:,} frames of hard levels" in text
        and f"It solves {100 * sheet['success_rate']:.1f} % of {sheet['evaluated_levels']:,} unseen levels "
        f"({first:,} to {last:,}, one episode each), random play "
        f"{100 * sheet['success_rate_of_a_random_policy']:.1f} %."
        in text
    )


def test_table_3(text: str, root: Path, trials: pd.DataFrame) -> None:
    runs = pd.read_csv(root / "results" / "coinrun" / "table3_runs.csv")
    printed = runs[runs.command.str.contains("tuned=published/")]
    kind = printed.command.str.extract(r"tuned=published/(\w+)", expand=False)
    means = printed.groupby(kind)["test/kl"].mean()
    ours = runs.drop(printed.index).groupby(runs.command.str.extract(r"tuned=searched/coinrun/(\w+)")[0])
    best = ours["test/kl"].mean()
    assert len(means) == 5 and printed.groupby(kind).size().eq(3).all()
    assert (
        f"a mean test KL of {point(means.min(), 2)} to {point(means.max(), 2)} (single runs "
        f"{point(printed['test/kl'].min(), 2)} to {point(printed['test/kl'].max(), 2)}). The best of our "
        f"searches have {point(best[MASK], 3)} (mask) and {point(best['adam'], 3)} (Adam)"
    ) in text


def test_number_of_levels(text: str, root: Path) -> None:
    table = by_levels(read_number_of_levels(root / "results"))
    found = table.set_index(["other", "levels"])

    def said(other: str, levels: int, digits: int = 3) -> str:
        row = found.loc[(other, levels)]
        end = f"{'+' if row.high > 0 else ''}{point(row.high, digits)}"
        return f"{point(row['mean'], 3)} ({point(row.low, digits)} to {end})"

    assert (
        f"The mask minus Adam is {said('adam', 64)} with 64 levels and {said('adam', 256)} with 256." in text
    )
    ours = f"{said(UNMASKED, 64, 4)} and {said(UNMASKED, 256, 4)}"
    assert f"The mask minus its own settings without it is {ours}." in text
    smallest = table.corrected.sort_values().tolist()
    assert set(smallest[:2]) == {found.loc[(other, 64)].corrected for other in ("adam", UNMASKED)}
    assert {point(p_value, 3) for p_value in smallest[:2]} == {".003"} and smallest[2] > 0.05
    assert f"are significant (p = .003 each; the next is {point(smallest[2], 2)})" in text
    few = table[table.levels <= 16]
    assert len(few) == 4 and ((few.low < 0) & (few.high > 0)).all()
    wide = (table.high - table.low)[table.levels == 4]
    assert f"(intervals of {point(wide.min(), 1)} to {point(wide.max(), 1)})" in text


def test_the_expert(text: str, root: Path) -> None:
    unseen = pd.read_csv(root / "results" / "coinrun" / "expert_hard" / "unseen.csv")
    on_the_way = unseen[unseen.policy == "expert"]
    assert set(on_the_way.levels) == {300}
    early, late = (
        on_the_way[mask].success_rate for mask in (on_the_way.frames < 7e6, on_the_way.frames >= 7e6)
    )
    assert (
        f"solved {whole(early.min())} to {whole(early.max())} % over the first seven million frames, "
        f"{whole(late.min())} to {whole(late.max())} % after"
    ) in text


def test_number_of_levels_in_training(text: str, root: Path) -> None:
    runs = read_number_of_levels(root / "results")
    train, test = (
        runs.groupby(["levels", "method"])[f"{split}/kl"].mean().unstack() for split in ("train", "test")
    )
    lower = train[MASK] < train.drop(columns=MASK).min(axis="columns")
    assert list(lower[lower].index) == [16, 64, 256]
    assert "On training levels it has a lower KL on average with 16, 64 and 256 levels" in text
    gap = test - train
    assert (gap[MASK] > gap.drop(columns=MASK).max(axis="columns"))[[16, 64]].all()
    assert "its gap to the test levels is larger with 16 and 64 levels" in text


def test_the_pilot(text: str, root: Path) -> None:
    runs = pd.read_csv(root / "results" / "coinrun" / "pilot_runs.csv")
    best = runs.groupby(["trainer.max_epochs", "aggregator.agreement_threshold"])["validation/kl"].min()
    by_threshold = best.unstack()
    assert (by_threshold[0.3] < by_threshold[0.0]).all() and len(by_threshold) == 5
    assert "the mask at its best rate is ahead of Adam at its best rate at every budget" in text
    ends = runs.pivot_table(
        "validation/kl", ["aggregator.agreement_threshold", "optimizer.lr"], "trainer.max_epochs"
    )
    assert (ends[64] < ends[32]).all()
    assert "No configuration has quite stopped improving at 4,096 steps." in text
