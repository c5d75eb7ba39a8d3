"""Known failures, told from training metrics alone."""

from __future__ import annotations

import math

from lab.environment_task.methods.irm_failures import WARNINGS, known_failure

CHANCE = math.log(2)


def test_constant_outputs() -> None:
    assert known_failure(0.693, 1e-9, CHANCE, accuracy_gain=0.0) == "collapsed"
    # Always the same class, though not always the same logits.
    assert known_failure(0.66, 1e-5, CHANCE, accuracy_gain=-0.001) == "collapsed"
    assert known_failure(5.0, 0.0, 5.0) == "collapsed"


def test_plain_trainings_solution() -> None:
    assert known_failure(0.34, 3e-3, CHANCE, accuracy_gain=0.36) == "too_weak"


def test_the_slope_counts_from_a_twentieth_of_the_risk_on() -> None:
    assert known_failure(0.5, (0.06 * 0.5) ** 2, CHANCE, accuracy_gain=0.2) == "too_weak"
    assert known_failure(0.5, (0.04 * 0.5) ** 2, CHANCE, accuracy_gain=0.2) is None


def test_success() -> None:
    assert known_failure(0.57, 1e-6, CHANCE, accuracy_gain=0.2) is None
    assert known_failure(0.96, 1e-5, 5.0) is None


def test_a_model_that_has_only_begun_to_learn_is_no_collapse() -> None:
    assert known_failure(0.688, 1e-5, CHANCE, accuracy_gain=0.1) is None


def test_a_risk_of_zero_is_no_failure() -> None:
    assert known_failure(0.0, 0.0, CHANCE, accuracy_gain=0.5) is None


def test_every_failure_has_its_warning() -> None:
    for text in WARNINGS.values():
        assert "0.5" in text.format(risk=0.5, penalty=1e-3)
