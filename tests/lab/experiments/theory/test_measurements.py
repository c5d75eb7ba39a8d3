"""The measurements of the theory make what is committed."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.theory.figures import consistency_ranks, solution_scores
from lab.experiments.theory.measurements import (
    hessian_vector,
    linear_regression,
    paper_solutions,
    small_solutions,
)
from lab.experiments.theory.score_rows import SETTINGS
from lab.experiments.theory.solutions import PAPER_SIZE, SMALL
from lab.experiments.theory.spirals_at_paper_size import train_network


def test_a_row_per_seed_and_setting_says_what_was_scored() -> None:
    table = small_solutions.score_small("authors_regression", 2, "and_mask", 1.0)[SMALL.as_posix()]
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 2 * len(SETTINGS)
    # Both ends of the definition: no less than epsilon, and the risks' spread is part of every gap.
    assert (table.inconsistency >= table.epsilon).all()
    assert (table.inconsistency >= table.risk_spread).all()
    assert (table.test < 0.05).all()


def test_the_committed_linear_sem_scores_are_those_of_the_committed_weights(root: Path) -> None:
    parts = small_solutions.parts(seeds=1, linear_sem_runs=str(root / "results" / "irm" / "linear_runs.csv"))
    again = parts["linear_sem"]()[SMALL.as_posix()]
    committed = pd.read_csv(root / "results" / SMALL)
    committed = committed[(committed.problem == "linear_sem") & (committed.seed == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, committed, rtol=1e-6)


def test_the_parts_are_the_groups_of_the_committed_tables(root: Path) -> None:
    names = {
        "two-parameter landscape": "two_parameters",
        "linear regression": "authors_regression",
        "linear_sem": "linear_sem",
        "spirals, 314 parameters": "small_spirals",
    }
    table = pd.read_csv(root / "results" / SMALL)
    groups = table[["problem", "aggregator", "agreement_threshold"]].drop_duplicates()
    expected = [
        f"{names[problem]}-{method}" + ("" if pd.isna(threshold) else f"-{threshold:g}")
        for problem, method, threshold in groups.itertuples(index=False)
    ]
    found = list(small_solutions.parts())
    at = found.index("linear_sem")
    found[at : at + 1] = [name for name in expected if name.startswith("linear_sem")]
    assert found == expected
    table = pd.read_csv(root / "results" / PAPER_SIZE)
    groups = table[["seed", "aggregator"]].drop_duplicates()
    assert list(paper_solutions.parts()) == [f"seed{s}-{name}" for s, name in groups.itertuples(index=False)]
    table = pd.read_csv(root / "results" / "theory" / "hessian_vector.csv")
    assert list(hessian_vector.parts()) == list(table.aggregator.unique())


@pytest.mark.slow
def test_the_linear_regression_repeats_the_committed_weights(root: Path) -> None:
    """One seed without noise; with noise, rounding decides where components nearly cancel."""
    part = linear_regression.parts(seeds=1)["and_mask-noise0"]
    tables = part()
    assert len(tables) == 2
    for path, again in tables.items():
        committed = pd.read_csv(root / "results" / path)
        committed = committed[(committed.aggregator == "and_mask") & (committed.seed == 0)]
        if "noise" in committed:
            committed = committed[committed.noise == 0]
        pd.testing.assert_frame_equal(again, committed.reset_index(drop=True), rtol=1e-6)


@pytest.mark.parametrize("measurement", [hessian_vector, paper_solutions, linear_regression, small_solutions])
def test_parts_can_be_given_to_another_process(measurement: object) -> None:
    parts = measurement.parts()  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(parts)).keys() == parts.keys()
    assert all(Path(name).name == name for name in parts)


@pytest.mark.slow
def test_plain_training_memorises_the_paper_size_spirals_within_a_few_epochs() -> None:
    solution = train_network(0, "mean", "trainer.max_epochs=8")
    assert solution.steps < 40
    assert abs(solution.test_accuracy - 0.5) < 0.06
    assert len(solution.losses) == 32
    assert solution.theta.shape == (141_058,)


def test_tables_read_the_committed_results(root: Path) -> None:
    table = solution_scores.tabulate(root / "results")
    assert (table.n >= 1).all()
    assert {"linear_sem", "linear regression"} <= set(table.problem)
    ranks = consistency_ranks.tabulate(root / "results")
    numbers = ranks.filter(like="damping").astype(float)
    assert bool((numbers.abs() <= 1).all(axis=None))
