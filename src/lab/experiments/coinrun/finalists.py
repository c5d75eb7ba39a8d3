"""The best configurations of both searches on new seeds, which decide the comparison of section 3.3."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.coinrun.comparison import Comparison, compare
from lab.experiments.coinrun.trials import STEPS_PER_EPOCH, UNMASKED
from lab.figures.holm import holm

FINALISTS = "coinrun/finalists.csv"
"""The finalists' curves, whose ``test/kl`` is of every second test state."""
FINALISTS_LEVELS = "coinrun/finalists_levels.csv"
"""The finalists' last divergence at each of all test states; every number on new seeds comes from it."""
FIRST_SEEDS, ALL_SEEDS = 5, 20
"""Seeds from 0 that were trained first at every budget, and that are asked for at the longest one."""


def seeds_that_decide(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the seeds that decide, at each budget.

    The first five seeds showed differences of p = .03 to .1, and for that reason fifteen more were asked for
    at the longest budget. Together they would be no fair test. So at a budget with fifteen later seeds of
    each method these alone decide. Until then the first five are shown there, and the claim is pending. This
    rule is older than the later seeds.

    Args:
        rows: rows with the columns ``method``, ``epochs`` and ``seed``.
    """
    first = rows.seed < FIRST_SEEDS
    numbers = rows[~first].groupby(["epochs", "method"]).seed.nunique().unstack()
    whole = numbers.index[(numbers == ALL_SEEDS - FIRST_SEEDS).sum(axis="columns") == rows.method.nunique()]
    deciding: pd.DataFrame = rows[first != rows.epochs.isin(whole)]
    return deciding


def read_finalists(results: Path) -> pd.DataFrame:
    """Read the repeated runs at the longest budget: one row per method, rank, seed and evaluation.

    The methods are the searches and ``UNMASKED``, the seeds those that decide. The column ``steps``, the
    budget, is added to the file's.
    """
    rows = pd.read_csv(results / FINALISTS)
    longest = seeds_that_decide(rows[rows.epochs == rows.epochs.max()])
    return longest.assign(steps=longest.epochs * STEPS_PER_EPOCH)


def read_finalists_ends(results: Path) -> pd.DataFrame:
    """Read the last evaluation of each repeated run: one row per method, rank and seed."""
    rows = read_finalists(results)
    last: pd.DataFrame = rows[rows.epoch == rows.epoch.max()]
    return last


def comparisons(results: Path) -> dict[int, dict[str, Comparison]]:
    """Compare the mask's best configurations on new seeds with Adam's, and with themselves without the mask.

    A difference below 0 says that the mask is better. The seeds are those that decide.

    Returns:
        The comparisons, by number of steps (the fewest first) and by the name of the other method.
    """
    return comparisons_of(seeds_that_decide(pd.read_csv(results / FINALISTS_LEVELS)))


def comparisons_of(rows: pd.DataFrame) -> dict[int, dict[str, Comparison]]:
    """Return the comparisons of ``comparisons`` for rows of its file."""
    return {
        epochs * STEPS_PER_EPOCH: {
            other: compare(rows[rows.epochs == epochs], "temporal_mask", other)
            for other in ("adam", UNMASKED)
        }
        for epochs in sorted(rows.epochs.unique().tolist())
    }


def read_finalists_means(results: Path) -> pd.DataFrame:
    """Return the mean test KL over all test levels and configurations: one row per method, budget and seed.

    The columns are ``method``, ``steps``, ``seed`` and ``test/kl``. The file is that of ``comparisons``.
    """
    rows = seeds_that_decide(pd.read_csv(results / FINALISTS_LEVELS))
    rows = rows.assign(steps=rows.epochs * STEPS_PER_EPOCH)
    return rows.groupby(["method", "steps", "seed"])["test/kl"].mean().reset_index()


def corrected(found: dict[int, dict[str, Comparison]]) -> dict[int, dict[str, float]]:
    """Return the p values of ``comparisons``, corrected for their number."""
    places = [(steps, other) for steps, by_other in found.items() for other in by_other]
    p_values = holm([found[steps][other].p_value for steps, other in places])
    table: dict[int, dict[str, float]] = {steps: {} for steps in found}
    for (steps, other), p_value in zip(places, p_values, strict=True):
        table[steps][other] = p_value
    return table


def in_words(found: Comparison) -> str:
    """Return the difference and its interval as text."""
    low, high = found.interval
    return f"{found.difference:+.4f} ({low:+.4f} to {high:+.4f})"


def pending_trainings(results: Path) -> str:
    """Return ``19 of 45 trainings``, or an empty text if all later seeds are trained."""
    rows = pd.read_csv(results / FINALISTS_LEVELS, usecols=["method", "epochs", "seed"])
    later = rows[(rows.epochs == rows.epochs.max()) & (rows.seed >= FIRST_SEEDS)]
    done, n = len(later.drop_duplicates()), rows.method.nunique() * (ALL_SEEDS - FIRST_SEEDS)
    return "" if done == n else f"{done} of {n} trainings"


def later_seeds(results: Path, unfinished: str) -> str:
    """Return how many later seeds are trained, or what all seeds together say, as a sentence.

    Args:
        results: the folder of committed CSV files.
        unfinished: what ``pending_trainings`` returns.
    """
    rows = pd.read_csv(results / FINALISTS_LEVELS)
    steps = rows.epochs.max() * STEPS_PER_EPOCH
    if unfinished:
        return (
            f"{ALL_SEEDS - FIRST_SEEDS} later seeds after {steps:,} steps will decide alone; {unfinished} "
            "with ten configurations each are done."
        )
    found = comparisons_of(rows[rows.epochs == rows.epochs.max()])[steps]
    return (
        f"After {steps:,} steps the {ALL_SEEDS - FIRST_SEEDS} later seeds decide alone, since the first "
        f"{FIRST_SEEDS} were the reason to train them. With all {ALL_SEEDS} the differences are "
        f"{in_words(found['adam'])} and {in_words(found[UNMASKED])}."
    )
