"""Holm's correction, against an example by hand and against the probability that it promises."""

from __future__ import annotations

import numpy as np
import pytest

from lab.figures.holm import LEVEL, holm


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # 3 x .01, 1 x .04 (not below the next), 2 x .03
        ([0.5, 0.4], [0.8, 0.8]),
        ([0.9, 0.8], [1.0, 1.0]),
    ],
)
def test_by_hand(p_values: list[float], expected: list[float]) -> None:
    assert holm(p_values) == pytest.approx(expected)


def test_any_false_finding_is_as_rare_as_the_level_says() -> None:
    random = np.random.default_rng(0)
    n, repeats = 5, 4000
    false = sum(min(holm(random.uniform(size=n).tolist())) < LEVEL for _ in range(repeats)) / repeats
    assert false == pytest.approx(LEVEL, abs=0.012)  # 3.5 standard errors
    uncorrected = sum(random.uniform(size=n).min() < LEVEL for _ in range(repeats)) / repeats
    assert uncorrected > 0.2


def test_more_is_found_than_with_bonferronis_correction() -> None:
    p_values = [0.012, 0.02, 0.04, 0.03]
    assert [p < LEVEL for p in holm(p_values)] == [True, False, False, False]
    p_values = [0.001, 0.014, 0.02, 0.04]
    assert [p < LEVEL for p in holm(p_values)] == [True] * 4
    assert [len(p_values) * p < LEVEL for p in p_values] == [True, False, False, False]
