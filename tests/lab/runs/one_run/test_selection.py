"""Which evaluation a summary reports."""

from __future__ import annotations

import pytest

from ilc.errors import UserError
from lab.runs.one_run.selection import RULES, check_selection

EVALUATIONS = [
    {"train/accuracy": 0.70, "validation/accuracy": 0.60, "test/accuracy": 0.66},
    {"train/accuracy": 0.85, "validation/accuracy": 0.50, "test/accuracy": 0.10},
    {"train/accuracy": 0.75, "validation/accuracy": 0.65, "test/accuracy": 0.62},
    {"train/accuracy": 0.85, "validation/accuracy": 0.55, "test/accuracy": 0.50},
    {"train/accuracy": 0.60, "validation/accuracy": 0.60, "test/accuracy": 0.55},
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("last", 4), ("training_environments", 1), ("validation_environment", 2), ("test_oracle", 0)],
)
def test_by_accuracy(rule: str, expected: int) -> None:
    assert RULES[rule](EVALUATIONS) == expected


def test_the_oracle_compares_the_worse_of_training_and_test() -> None:
    """The first evaluation is best on the test data, but has not learned the training data."""
    pairs = [(0.5, 0.8), (0.7, 0.7), (0.9, 0.3)]
    evaluations = [{"train/accuracy": train, "test/accuracy": test} for train, test in pairs]
    assert RULES["test_oracle"](evaluations) == 1


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("last", 2), ("training_environments", 2), ("validation_environment", 1), ("test_oracle", 0)],
)
def test_by_risk_where_there_is_no_accuracy(rule: str, expected: int) -> None:
    evaluations = [
        {"train/loss": 1.0, "validation/loss": 3.0, "test/loss": 1.1},
        {"train/loss": 0.9, "validation/loss": 2.0, "test/loss": 2.0},
        {"train/loss": 0.8, "validation/loss": 4.0, "test/loss": 3.0},
    ]
    assert RULES[rule](evaluations) == expected


def test_a_dataset_without_validation_environment_is_refused() -> None:
    with pytest.raises(UserError, match="an evaluation split named 'validation'"):
        check_selection("validation_environment", {"test"})
    check_selection("validation_environment", {"test", "validation"})
    check_selection("test_oracle", {"test"})


@pytest.mark.parametrize("rule", sorted(RULES.keys() - {"last"}))
def test_a_run_without_accuracy_and_risk_is_told_so(rule: str) -> None:
    with pytest.raises(UserError, match=r"/accuracy or .*/loss, and this run measures neither"):
        RULES[rule]([{"test/regret": 0.5}])
