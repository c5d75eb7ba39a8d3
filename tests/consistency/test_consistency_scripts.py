from __future__ import annotations

import runpy

import pandas as pd
import pytest

from ilc.aggregators import AndMask
from ilc.consistency.examples.problems import authors_regression
from ilc.consistency.examples.spirals_at_paper_size import train_network
from ilc.figures import consistency_ranks, consistency_table


@pytest.fixture(scope="module")
def script(root):
    return runpy.run_path(str(root / "scripts" / "score_trained_solutions.py"))


def test_a_row_per_seed_and_setting_says_what_was_scored(script):
    table = script["_score_small"](authors_regression(2), "and_mask", 1.0, AndMask(1.0), "two seeds")
    assert len(table) == 2 * len(script["SETTINGS"])
    # Both ends of the definition: no less than epsilon, and the risks' spread is part of every gap.
    assert (table.inconsistency >= table.epsilon).all()
    assert (table.inconsistency >= table.risk_spread).all()
    assert (table.test < 0.05).all()


def test_the_committed_linear_sem_scores_are_those_of_the_committed_weights(script, root):
    again = script["score_linear_sem"](1, root / "results" / "irm" / "linear_runs.csv")
    committed = pd.read_csv(root / "results" / "consistency" / "solutions_small.csv")
    committed = committed[(committed.problem == "linear_sem") & (committed.seed == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, committed, rtol=1e-6)


def test_a_finished_part_is_not_computed_again(script, tmp_path):
    def once():
        return pd.DataFrame({"a": [1.5]})

    def never():
        raise AssertionError("computed twice")

    first = script["_kept"](tmp_path / "part.csv", once)
    assert first.equals(script["_kept"](tmp_path / "part.csv", never))


@pytest.mark.slow
def test_plain_training_memorises_the_paper_size_spirals_within_a_few_epochs():
    solution = train_network(0, "mean", None, max_epochs=8)
    assert solution.steps < 40
    assert abs(solution.test_accuracy - 0.5) < 0.06
    assert len(solution.losses) == 32
    assert solution.theta.shape == (141_058,)


def test_tables_read_the_committed_results(root):
    table = consistency_table.tabulate(root / "results")
    assert (table.n >= 1).all()
    assert {"linear_sem", "linear regression"} <= set(table.problem)
    ranks = consistency_ranks.tabulate(root / "results")
    numbers = ranks.filter(like="damping").astype(float)
    assert bool((numbers.abs() <= 1).all(axis=None))
