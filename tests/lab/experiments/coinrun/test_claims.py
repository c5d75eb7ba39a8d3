"""The verdicts on section 3.3 follow the numbers, and no trial is left out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from lab.experiments.coinrun import thumbnail
from lab.experiments.coinrun.claims.generalisation import LIMIT, claims, verdict
from lab.experiments.coinrun.claims.weight_decay import STARTUP
from lab.experiments.coinrun.claims.weight_decay import claims as decay_claims
from lab.experiments.coinrun.figures import (
    coinrun_finalists,
    coinrun_pilot,
    figure10,
    figure18,
    number_of_levels,
    table3,
)
from lab.experiments.coinrun.figures.figure18 import interval_of_the_mean
from lab.experiments.coinrun.finalists import (
    ALL_SEEDS,
    FINALISTS,
    FINALISTS_LEVELS,
    FIRST_SEEDS,
    comparisons,
    read_finalists_ends,
    read_finalists_means,
)
from lab.experiments.coinrun.number_of_levels import RUNS, differences, read_number_of_levels
from lab.experiments.coinrun.number_of_levels import comparisons as comparisons_by_levels
from lab.experiments.coinrun.trials import FOLDER, METHODS, TOP, UNMASKED, all_trials, counts, read_trials
from lab.runs.search.search_file import load_definition

TRIALS, SEEDS, LEVELS = 24, 5, 40
SHORT, LONG = 8, 32
"""Budgets of the finalists, in epochs."""


def write(
    results: Path,
    ahead: float,
    beyond_settings: float | None = None,
    ahead_early: float | None = None,
) -> Path:
    """Made-up results: the mask is ``ahead`` nats ahead, of its own settings as of Adam's and early as late
    if nothing else is said; decoupled trials are better."""
    beyond_settings = ahead if beyond_settings is None else beyond_settings
    gains = {LONG: (ahead, beyond_settings), SHORT: 2 * (ahead if ahead_early is None else ahead_early,)}
    random = np.random.default_rng(0)
    (results / FOLDER).mkdir(parents=True)
    for method in METHODS:
        kl = 0.2 + 0.01 * np.arange(TRIALS) - (ahead if method == "temporal_mask" else 0.0)
        trials = pd.DataFrame(
            {
                "state": "COMPLETE",
                "optimizer.lr": random.uniform(1e-3, 1e-2, TRIALS),
                "optimizer.betas": "[0.5,0.999]",
                "optimizer.weight_decay": 0.01,
                "number": np.arange(TRIALS),
                "optimizer.decoupled": np.arange(TRIALS) % STARTUP < STARTUP // 2,
                "aggregator.pytorch_form": True,
                "aggregator.beta_3": 0.8,
                "aggregator.agreement_threshold": 0.3,
                "mask/density": 0.5,
                "constant/kl": 1.0,
                "validation/kl": kl,
                "test/kl": kl[::-1],  # The best on validation levels is the worst on test levels.
                "data_source": "made up",
            }
        )
        failed = pd.DataFrame({"state": ["FAIL"], "optimizer.betas": "[0.5,0.999]"})
        pd.concat([trials, failed]).to_csv(results / FOLDER / f"{method}_trials.csv", index=False)
    finalists, levels = [], []
    for method, epochs in product((*METHODS, UNMASKED), gains):
        of_adam, of_settings = gains[epochs]
        for seed in range(SEEDS):
            of = {"method": method, "epochs": epochs, "seed": seed}
            gain = {"temporal_mask": of_adam, UNMASKED: of_adam - of_settings}.get(method, 0.0)
            own = 0.2 - gain + random.normal(0, 1e-3)
            for rank in range(1, TOP + 1):
                for epoch in (epochs // 2, epochs):
                    known = {"rank": rank, "epoch": epoch, "data_source": "made up"}
                    kls = dict.fromkeys(("train/kl", "validation/kl", "test/kl"), own + 0.1 / epoch)
                    finalists.append({**of, **known, **kls})
            # The runs' own test divergence is of fewer states, so no number may come from both files.
            at_levels = {"level": range(LEVELS), "test/kl": 1.0 + own + random.normal(0, 1e-3, LEVELS)}
            levels.append(pd.DataFrame({**of, **at_levels}))
    pd.DataFrame(finalists).to_csv(results / FINALISTS, index=False)
    pd.concat(levels).to_csv(results / FINALISTS_LEVELS, index=False)
    names = [f"published/coinrun_{i}" for i in range(1, 6)] + [f"searched/coinrun/{name}" for name in METHODS]
    commands = [f"python src/train.py -m tuned={name} seed={seed}" for name in names for seed in range(3)]
    pd.DataFrame({"command": commands, "test/kl": 0.15}).to_csv(results / table3.RUNS, index=False)
    few_levels = [
        {
            "command": f"python src/train.py tuned=searched/coinrun/{search} seed={seed}",
            "dataset.n_environments": n,
            "seed": seed,
            "aggregator.agreement_threshold": threshold,
            "test/kl": 0.2 - gain + random.normal(0, 1e-3),
            "data_source": "made up",
        }
        for search, threshold, gain in (
            ("adam", 0.0, 0.0),
            ("temporal_mask", 0.3, ahead),
            ("temporal_mask", 0.0, ahead - beyond_settings),
        )
        for n in (4, 64)
        for seed in range(SEEDS)
    ]
    pd.DataFrame(few_levels).to_csv(results / RUNS, index=False)
    pilot = [
        {
            "trainer.max_epochs": epochs,
            "aggregator.agreement_threshold": threshold,
            "optimizer.lr": lr,
            "validation/kl": 1 / epochs,
        }
        for epochs in (4, 8)
        for threshold in (0.0, 0.3)
        for lr in (1e-3, 1e-2)
    ]
    pd.DataFrame(pilot).to_csv(results / coinrun_pilot.RUNS, index=False)
    return results


@pytest.mark.parametrize(
    ("ahead", "beyond_settings", "early", "expected"),
    [
        (0.01, 0.01, 0.01, f"in part: {LIMIT}"),
        (0.01, 0.01, 0.0, f"in part: {LIMIT}"),
        (-0.01, 0.01, 0.01, "not reproduced"),
        (0.01, -0.01, 0.01, "not reproduced"),
        (0.01, 0.0, 0.0, "undecided"),
        (0.0, 0.01, 0.0, "undecided"),
        (0.0, 0.01, 0.01, "in part: in short training"),
    ],
)
def test_the_verdict_is_that_of_new_seeds(
    ahead: float, beyond_settings: float, early: float, expected: str, tmp_path: Path
) -> None:
    results = write(tmp_path, ahead, beyond_settings, early)
    assert verdict(comparisons(results), LIMIT) == expected
    (generalisation,) = claims(results)
    assert generalisation.verdict == "pending: 0 of 45 trainings"
    assert "after 2,048 steps, mask minus Adam" in generalisation.number
    assert "24 completed trials of Adam (1 more failed)" in generalisation.ours
    assert "on 1,000 of the 2,000 test states" in generalisation.ours
    assert "will decide alone; 0 of 45 trainings" in generalisation.ours


def test_later_seeds_decide_alone_and_only_when_all_are_there(tmp_path: Path) -> None:
    results = write(tmp_path, 0.01)
    rows = pd.read_csv(results / FINALISTS_LEVELS)
    last = rows[(rows.epochs == LONG) & (rows.seed == 0)]
    worse = {"temporal_mask": 0.02}
    later = [
        last.assign(seed=seed).assign(**{"test/kl": last["test/kl"] + last.method.map(worse).fillna(0.0)})
        for seed in range(FIRST_SEEDS, ALL_SEEDS)
    ]
    later = [part.assign(**{"test/kl": part["test/kl"] + 1e-4 * n}) for n, part in enumerate(later)]
    for done, rest in ((later[:-1], ["adam"]), (later, [])):
        partly = later[-1][later[-1].method.isin(rest)]
        pd.concat([rows, *done, partly]).to_csv(results / FINALISTS_LEVELS, index=False)
        (claim,) = claims(results)
        found = comparisons(results)
        assert found[512]["adam"].seeds == FIRST_SEEDS
        if rest:
            assert claim.verdict == "pending: 43 of 45 trainings"
            assert "43 of 45 trainings" in claim.ours
            assert found[2048]["adam"].seeds == FIRST_SEEDS
        else:
            assert claim.verdict == "not reproduced"
            assert found[2048]["adam"].seeds == ALL_SEEDS - FIRST_SEEDS
            assert "With all 20 the differences are" in claim.ours
            assert set(read_finalists_means(results).query("steps == 2048").seed) == set(
                range(FIRST_SEEDS, ALL_SEEDS)
            )


def test_weight_decay_is_judged_by_the_random_trials_alone(tmp_path: Path) -> None:
    results = write(tmp_path, 0.0)
    (claim,) = decay_claims(results)
    # Of the first ten the five with it are the five best, p = 0.0079 in each search.
    assert claim.verdict == "in part: with small students"
    assert claim.number == "p = 0.0079 and 0.0079, 10 random trials each"
    assert "of all trials 14 have it and 10 do not, and 5 of the 10 best have it" in claim.ours
    for method in METHODS:
        path = results / FOLDER / f"{method}_trials.csv"
        trials = pd.read_csv(path)
        late = trials.number >= STARTUP
        trials.loc[late, "validation/kl"] = np.where(trials["optimizer.decoupled"][late] == 1, 0.1, 9.0)
        trials.loc[~late, "optimizer.decoupled"] = trials.number[~late] % 2 == 0
        trials.to_csv(path, index=False)
    (claim,) = decay_claims(results)
    assert claim.kind == "undecided"


def test_ranks_go_by_validation_levels_and_the_papers_by_test_levels(tmp_path: Path) -> None:
    trials = read_trials(write(tmp_path, 0.0))
    for _, own in trials.groupby("method"):
        assert own["rank"].tolist() == list(range(1, TRIALS + 1))
        assert own["validation/kl"].is_monotonic_increasing
        assert own.oracle_rank.tolist() == list(range(TRIALS, 0, -1))


@pytest.mark.parametrize("other", ["adam", UNMASKED])
def test_differences_by_number_of_levels_are_paired_by_seed(other: str, tmp_path: Path) -> None:
    rows = read_number_of_levels(write(tmp_path, 0.05, 0.02))
    one = rows[rows.levels == 4].pivot(index="seed", columns="method", values="test/kl")
    each = one["temporal_mask"] - one[other]
    found = differences(rows, other).loc[4]
    assert found.p == pytest.approx(ttest_rel(one["temporal_mask"], one[other]).pvalue)
    compared = comparisons_by_levels(rows)
    smallest = compared.p.min()
    assert compared.corrected.min() == pytest.approx(len(compared) * smallest)
    assert found["mean"] == pytest.approx(each.mean())
    assert found["mean"] == pytest.approx({"adam": -0.05, UNMASKED: -0.02}[other], abs=0.003)
    # 2.776: Student's t with four degrees of freedom.
    assert found.high - found["mean"] == pytest.approx(2.776 * each.std() / SEEDS**0.5, rel=1e-3)


def test_everything_is_drawn(tmp_path: Path) -> None:
    results = write(tmp_path, 0.01)
    for module in (figure10, figure18, number_of_levels, thumbnail):
        assert module.draw(results).axes
    assert len(thumbnail.draw(results).axes[0].get_xticks()) == 3
    table = table3.tabulate(results)
    assert len(table) == 11
    assert (table[table3.NARROW.format(2048)] != "").sum() == 6
    assert (table[table3.WIDE] != "").sum() == 7
    assert list(coinrun_pilot.tabulate(results).columns) == ["threshold", "lr", "256 steps", "512 steps"]


def test_figure_table_and_intervals_are_of_one_file(tmp_path: Path) -> None:
    results = write(tmp_path, 0.01, 0.02)
    table = coinrun_finalists.tabulate(results)
    drawn = {text.get_text() for text in figure10.draw(results).axes[1].texts}
    last = table[table.steps == "2,048"]
    assert {*last["mask"], *last["other"]} == drawn
    for _, row in table.iterrows():
        assert float(row["mask"]) - float(row["other"]) == pytest.approx(
            float(row["mask - other"]), abs=1.01e-4
        )
    assert all(float(value) > 1 for value in table["mask"]), "the file of all test states"


def test_the_interval_shrinks_with_the_number_of_trials() -> None:
    """Against the textbook's interval of a mean, mean +- 1.96 s / sqrt(n)."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(3.0, 1.0, (2, 200)))
    low, high = interval_of_the_mean(rows)
    half = 1.96 * rows.std(axis=1) / 200**0.5
    np.testing.assert_allclose(low, rows.mean(axis=1) - half, atol=0.02)
    np.testing.assert_allclose(high, rows.mean(axis=1) + half, atol=0.02)


def test_the_committed_searches_are_complete_and_comparable(root: Path) -> None:
    """As many completed trials as asked for, ranges shared, and every finalist on every seed."""
    results = root / "results"
    adam, mask = (load_definition(f"coinrun/{method}") for method in METHODS)
    assert adam.space.items() <= mask.space.items()
    assert [o for o in adam.fixed if "aggregator" not in o] == list(mask.fixed)
    for method in METHODS:
        trials = all_trials(results, method)
        assert (trials.state == "COMPLETE").sum() == load_definition(f"coinrun/{method}").trials >= TOP
    last = read_finalists_ends(results)
    assert len(last) == len([*METHODS, UNMASKED]) * TOP * (ALL_SEEDS - FIRST_SEEDS)
    assert not last.duplicated(["method", "rank", "seed"]).any()
    assert len(comparisons(results)) == 2
    assert "of Adam" in counts(results)
