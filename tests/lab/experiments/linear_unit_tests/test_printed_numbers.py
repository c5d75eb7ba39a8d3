"""The numbers that docs/linear_unit_tests.md prints in its sentences are those of the committed results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import point, tenths, whole, word
from lab.experiments.linear_unit_tests.results import UNDERFLOW, beside_published
from lab.figures.two_groups import paired

THEIRS = "and_mask_published"


@pytest.fixture(scope="module")
def runs(root: Path) -> pd.DataFrame:
    return beside_published(root / "results")


@pytest.fixture(scope="module")
def errors(runs: pd.DataFrame) -> pd.Series:
    """Test errors of cells with 50 data seeds, by problem, environments, spurious dimensions and method."""
    whole_table = runs[runs.n_seeds == 50]
    return whole_table.set_index(["problem", "n_environments", "spurious_dimensions", "method"])["test/error"]


def test_the_and_mask_on_problem_3(text: str, runs: pd.DataFrame, root: Path) -> None:
    cell = (runs.problem == "3") & (runs.n_environments == 3) & (runs.method == THEIRS)
    (row,) = runs[cell & runs.published.notna()].to_dict("records")
    apart = abs(row["apart"])
    assert (
        f"has {point(row['test/error'], 3)} here and {point(row['published'], 3)} in the source, {apart:.1f} "
        "standard errors away"
    ) in text
    table = pd.read_csv(root / "results" / UNDERFLOW)
    trained = table[table.as_they_do]
    here, theirs = (trained[trained.chosen_by == name] for name in ("ours", "theirs"))
    zero = here.first_zero_step.notna()
    assert len(here) == 10 and f"has the length zero in {word(int(zero.sum()))} of them" in text
    apart = (here.test_error - here.their_test_error)[~zero].abs().max()
    assert (
        f"In the other {word(int((~zero).sum()))} both forms have the same error up to {point(apart, 4)}."
    ) in text
    assert theirs.first_zero_step.isna().all()
    means = table.groupby("chosen_by").test_error.mean()
    assert f"and our error is {point(means['theirs'], 3)} over 50 data seeds, as published" in text
    assert f"the mean is {point(means['ours'], 3)} instead of {point(row['test/error'], 3)}" in text


def test_what_rotation_costs_the_published_mask(text: str, errors: pd.Series) -> None:
    gain = {
        problem: errors[problem, 3, 5, "plain"] - errors[problem, 3, 5, THEIRS]
        for problem in ("1", "1s", "3", "3s")
    }
    assert abs(1 - gain["1s"] / gain["1"] - 0.25) < 0.02
    assert gain["3s"] < 0.05 * gain["3"]
    assert "a quarter of its gain over plain training on problem 1. On 3s almost nothing is left" in text


def test_the_extremes(text: str, runs: pd.DataFrame, errors: pd.Series) -> None:
    assert (
        f"it solves problem 2 ({point(errors['2', 2, 5, THEIRS], 3)}, plain training "
        f"{point(errors['2', 2, 5, 'plain'], 3)}) and is wrong in {tenths(errors['2s', 2, 5, THEIRS])} % of"
    ) in text
    assert abs(errors["2s", 2, 5, THEIRS] - errors["2s", 2, 5, "plain"]) < 0.002
    cell = runs[(runs.problem == "3s") & (runs.n_environments == 10) & (runs.method == THEIRS)]
    (row,) = cell.to_dict("records")
    assert (
        f"it has {point(errors['3', 10, 5, THEIRS], 3)} on problem 3 and {point(row['test/error'], 3)} on 3s "
        f"(published {point(row['published'], 3)} ± {point(row['published_std'], 3)};"
    ) in text


def test_the_sweeps(text: str, runs: pd.DataFrame, errors: pd.Series) -> None:
    sweeps = runs[runs.published.notna() & ~((runs.n_environments == 3) & (runs.spurious_dimensions == 5))]
    regression = sweeps[sweeps.problem.isin(["1", "1s"])]
    apart = regression.apart.abs().sort_values()
    assert len(regression) == 180 and len(sweeps) == 188
    assert apart.iloc[-2] < 0.04 and f"{apart.iloc[-1]:.1f} standard errors higher" in text
    last = regression.loc[apart.index[-1]]
    assert (last.problem, last.spurious_dimensions, last.method) == ("1s", 1, THEIRS)
    assert "Of the 180 published errors of the sweeps on problems 1 and 1s, 179 are within .04" in text

    above = {
        (method, problem): pd.Series(
            {
                (n, d): errors[problem, n, d, method] / errors[problem, n, d, "oracle"] - 1
                for p, n, d, name in errors.index
                if (p, name) == (problem, method)
            }
        )
        for method, problem in ((THEIRS, "1"), (THEIRS, "1s"), ("plain", "1"))
    }
    spurious = above[THEIRS, "1s"]
    spurious = spurious[spurious.index.get_level_values(1) > 0]
    assert (
        f"at most {whole(above[THEIRS, '1'].max())} % above the oracle on problem 1, and "
        f"{whole(spurious.min())} to {whole(spurious.max())} % above it on 1s"
    ) in text
    by_size = {n: above["plain", "1"][n, 5] for n in range(2, 11)}
    many = [by_size[n] for n in range(4, 11)]
    assert (
        f"Plain training is {whole(by_size[2])} % above it with two environments and {whole(min(many))} to "
        f"{whole(max(many))} % with four to ten"
    ) in text


@pytest.fixture(scope="module")
def aggregators(root: Path) -> pd.DataFrame:
    """The runs of all turns, by problem, turn and aggregator."""
    runs = pd.read_csv(root / "results" / "linear_unit_tests" / "turned" / "aggregators_runs.csv")
    return runs.set_index(["dataset.problem", "dataset.rotation", "aggregator"]).sort_index()


@pytest.fixture(scope="module")
def by_seed(aggregators: pd.DataFrame) -> pd.DataFrame:
    """The test errors of these runs, a column for each data seed."""
    return aggregators.filter(regex=r"^seed\d+/test/error$")


def test_mgda(text: str, root: Path, aggregators: pd.DataFrame) -> None:
    torchjd = pd.read_csv(root / "results" / "linear_unit_tests" / "turned" / "torchjd_runs.csv")
    seeds = [f"seed{i}/test/error" for i in range(5)]
    runs = pd.concat([aggregators.loc["1s", 1], torchjd.set_index("aggregator.kind")])[seeds]
    mgda, mask = runs.loc["MGDA"], runs.loc["and_mask"]
    said = f"{mgda.min():.2f} to {mgda.max():.2f} (the AND-mask {mask.min():.2f} to {mask.max():.2f})"
    assert said in text
    assert (mgda < runs.drop(index="MGDA").min()).all()
    upgrad, plain = runs.loc["UPGrad"].mean(), runs.loc["mean"].mean()
    assert f"On these seeds it has {upgrad:.2f} and plain training {plain:.2f}, so it is no better." in text
    assert "has the lowest error of this table on turned 1s, on each of its five data seeds" in text


def test_turned_inputs(text: str, aggregators: pd.DataFrame, by_seed: pd.DataFrame) -> None:
    errors = aggregators.pivot_table("test/error", "aggregator", ["dataset.problem", "dataset.rotation"])
    at_the_end = by_seed.loc["3s", 1]
    assert at_the_end.shape[1] == 10
    for mask in ("and_mask", "sand_mask"):
        gain = errors.loc["mean"] - errors.loc[mask]
        assert abs(1 - gain["1s", 1] / gain["1s", 0] - 1 / 3) < 0.03
        assert gain["3s", 0.5] < 0 and f"{gain['3s', 1]:.2f}" == "-0.04"
        assert paired(at_the_end.loc[mask] - at_the_end.loc["mean"]).p_value > 0.05
    assert "On 1s the masks by component lose a third of their gain" in text
    assert (
        "On 3s nothing of it is left half way. At the end their mean error is 0.04 above that of plain "
        "training, which ten seeds do not tell from zero."
    ) in text
    worse = errors["1s", 1].drop("mean") > errors["1s", 1]["mean"]
    assert (
        list(worse[worse].index) == ["v_rex"]
        and "V-REx, at a penalty that was not searched, is worse" in text
    )


def test_the_gain_in_principal_directions(text: str, by_seed: pd.DataFrame) -> None:
    before, after = (
        by_seed.loc["3s", turn, "mean"] - by_seed.loc["3s", turn, "gram_agreement"] for turn in (0, 1)
    )
    p_value = paired(before).p_value
    assert p_value > 0.05 and len(before) == 10
    assert (
        f"its gain is small and not sure before the turn ({before.mean():.2f}, p = {point(p_value, 2)}), and "
        "there is none after it"
    ) in text
    assert after.mean() < 0


def test_all_methods_choose_by_the_shortcut_on_2s(text: str, errors: pd.Series) -> None:
    found = errors["2s", 3, 5]
    others = found.drop("oracle")
    assert set(others.index) >= {"plain", "irm_penalty", "iga", THEIRS}
    assert others.max() - others.min() < 1e-6 and found["oracle"] < 0.001 < others.min()
    assert "On 2s all methods except the oracle have the error of a choice by the shortcut." in text
