"""The committed solutions are scored on the very environments that they were trained on."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml

from ilc.errors import UserError
from lab.experiments.theory.linear_sem_solutions import METHODS, WEIGHTS, linear_sem_solutions


@pytest.fixture(scope="module")
def runs(root):
    return root / "results" / "irm" / "linear_runs.csv"


def test_regenerated_environments_give_the_risks_that_the_runs_recorded(runs):
    recorded = pd.read_csv(runs).set_index(["aggregator", "seed"])
    solutions = list(linear_sem_solutions(runs, 2))
    assert {(s.aggregator, s.seed) for s in solutions} == {
        (name, seed) for name in METHODS for seed in (0, 1)
    }
    for solution in solutions:
        run = recorded.loc[(solution.aggregator, solution.seed)]
        for loss, scale in zip(solution.losses, ("0.1", "1"), strict=True):
            assert float(loss(solution.theta)) == pytest.approx(run[f"train_s{scale}/loss"], abs=1e-6)
        assert solution.test == run["test_s0.01/loss"]
        assert solution.steps == run["step"]


def test_the_thresholds_are_those_of_the_configs(root):
    for name, threshold in METHODS.items():
        config = yaml.safe_load((root / "conf" / "aggregator" / f"{name}.yaml").read_text())
        tuned = root / "conf" / "tuned" / "linear_sem" / f"{name}.yaml"
        if tuned.exists():
            config |= yaml.safe_load(tuned.read_text())["aggregator"]
        assert config.get("agreement_threshold") == threshold


def test_a_missing_table_and_a_missing_column_are_named(runs, tmp_path):
    with pytest.raises(UserError, match="no linear_sem solutions"):
        next(linear_sem_solutions(tmp_path / "none.csv", 1))
    pd.read_csv(runs).drop(columns=WEIGHTS[2]).to_csv(tmp_path / "runs.csv")
    with pytest.raises(UserError, match="no column weight/2"):
        next(linear_sem_solutions(tmp_path / "runs.csv", 1))
