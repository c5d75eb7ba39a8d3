"""The interval holds the true difference as often as it says, and the verdict follows from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from lab.experiments.coinrun.comparison import Comparison, compare
from lab.figures.holm import LEVEL

SEEDS, LEVELS = 5, 40


def rows_of(difference: float, random: np.random.Generator, seeds: float, levels: float) -> pd.DataFrame:
    """Made-up divergences; ``seeds`` and ``levels`` are how much each moves the difference."""
    shape = (SEEDS, LEVELS)
    base = random.normal(1.0, 0.3, shape)
    own = difference + seeds * random.normal(size=(SEEDS, 1)) + levels * random.normal(size=LEVELS)
    values = {"adam": base, "mask": base + own + 0.02 * random.normal(size=shape)}
    seed, level = np.indices(shape)
    return pd.concat(
        pd.DataFrame({"method": name, "seed": seed.ravel(), "level": level.ravel(), "test/kl": value.ravel()})
        for name, value in values.items()
    )


def test_the_difference_is_the_mean_and_pairs_seeds_and_levels() -> None:
    rows = rows_of(-0.1, np.random.default_rng(0), seeds=0.01, levels=0.01)
    found = compare(rows.sample(frac=1, random_state=0), "mask", "adam")
    means = rows.groupby("method")["test/kl"].mean()
    assert found.difference == pytest.approx(means["mask"] - means["adam"])
    assert (found.seeds, found.levels) == (SEEDS, LEVELS)
    assert (
        found.standard_error < 0.02
    )  # The students' 0.3 from level to level, which both share, is no error.
    opposite = compare(rows, "adam", "mask")
    assert opposite.difference == pytest.approx(-found.difference)
    assert opposite.standard_error == pytest.approx(found.standard_error)


def test_with_levels_all_alike_it_is_the_t_test_of_pairs() -> None:
    rows = rows_of(-0.02, np.random.default_rng(1), seeds=0.03, levels=0.0)
    of_seeds = rows.groupby(["method", "seed"])["test/kl"].mean().unstack("method")
    means = rows.groupby(["method", "seed"])["test/kl"].transform("mean")
    found = compare(rows.assign(**{"test/kl": means}), "mask", "adam")
    oracle = ttest_rel(of_seeds["mask"], of_seeds["adam"]).confidence_interval()
    assert found.interval == pytest.approx((oracle.low, oracle.high))


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "levels"), [(0.1, 0.0), (0.0, 0.3), (0.05, 0.3)])
def test_the_interval_covers_the_truth(seeds: float, levels: float) -> None:
    """At least nearly as often as it says, and it is not so wide that it says nothing."""
    random = np.random.default_rng(2)
    found = [compare(rows_of(0.2, random, seeds, levels), "mask", "adam") for _ in range(300)]
    covers = np.mean([low <= 0.2 <= high for low, high in (one.interval for one in found)])
    assert covers > 0.92
    spread = np.std([one.difference for one in found])
    assert np.median([one.standard_error for one in found]) < 1.7 * spread


def test_a_difference_of_the_smallest_size_is_seen_four_times_in_five() -> None:
    random = np.random.default_rng(3)
    size = Comparison(0.0, 0.1 / SEEDS**0.5, SEEDS, LEVELS).smallest_seen
    found = [compare(rows_of(-size, random, 0.1, 0.0), "mask", "adam") for _ in range(300)]
    seen = [one.difference for one in found if one.p_value < LEVEL]
    assert 0.7 < len(seen) / len(found) < 0.92
    assert max(seen) < 0


@pytest.mark.parametrize(("difference", "differs"), [(-1.0, True), (1.0, True), (0.1, False), (0.0, False)])
def test_the_p_value_is_below_the_level_where_the_interval_leaves_0_out(
    difference: float, differs: bool
) -> None:
    found = Comparison(difference, 0.1, SEEDS, LEVELS)
    low, high = found.interval
    assert low < difference < high
    assert (not low <= 0 <= high) == (found.p_value < LEVEL) == differs
    # The edge of the interval is the difference at which the p value is the level.
    edge = Comparison(difference - low, 0.1, SEEDS, LEVELS)
    assert edge.p_value == pytest.approx(LEVEL)
