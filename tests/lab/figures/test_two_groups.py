"""Welch's and the paired test against SciPy's, groups without spread, and signs of several differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from lab.figures.two_groups import Difference, paired, signs, welch


@pytest.mark.parametrize("sizes", [(5, 5), (2, 9)])
def test_it_is_welchs_test(sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    one, other = random.normal(0.5, 1.0, sizes[0]), random.normal(0.0, 3.0, sizes[1])
    found = welch(one.tolist(), other.tolist())
    assert found.value == pytest.approx(one.mean() - other.mean())
    assert found.p_value == pytest.approx(ttest_ind(one, other, equal_var=False).pvalue)


def test_groups_without_spread_differ_if_their_values_do() -> None:
    assert welch([0.3, 0.3], [0.1 + 0.2] * 3).p_value == 1
    assert welch([0.3, 0.3], [0.2, 0.2]) == pytest.approx((0.1, 0.0))


def test_pairs() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(0.5, 1.0, 5), random.normal(0.0, 3.0, 5)
    found = paired(one - other)
    assert found.value == pytest.approx((one - other).mean())
    assert found.p_value == pytest.approx(ttest_rel(one, other).pvalue)
    assert paired([0.1, 0.1 + 1e-18]) == pytest.approx((0.1, 0.0))
    assert paired([0.0, 0.0]) == (0.0, 1.0)


def test_signs_are_corrected_for_their_number() -> None:
    below = Difference(-1.0, 0.03)
    assert signs([below]) == [-1]
    assert signs([below, below]) == [0, 0]
    assert signs([below, Difference(1.0, 0.001)]) == [-1, 1]
    assert signs([]) == []
