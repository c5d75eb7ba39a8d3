"""Data that the figures, the table and the claims of section 3.3 share.

The data are the trials of two searches and the runs of their best configurations on new seeds.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lab.experiments.coinrun.comparison import Comparison, compare
from lab.figures.holm import holm
from lab.figures.style import COLORS as ALL_COLORS
from lab.figures.style import GREY, LABELS, data_sources

FOLDER = Path("coinrun/search/coinrun")
FINALISTS = "coinrun/finalists.csv"
"""The finalists' curves, whose ``test/kl`` is of every second test state."""
FINALISTS_LEVELS = "coinrun/finalists_levels.csv"
"""The finalists' last divergence at each of all test states; every number on new seeds comes from it."""
CUT = "1,000 of the 2,000 test states"
"""The test states of all other committed numbers: trials, curves, pilot, table 3, number of levels."""
METHODS = {"adam": "Adam", "temporal_mask": LABELS["temporal_mask"]}
"""The searches of ``conf/search/coinrun/coinrun.yaml``, each with its name in figures and tables."""
UNMASKED = "unmasked"
"""The mask's best configurations without the mask: Adam with settings that its own search may have missed."""
COLORS = {"adam": ALL_COLORS["mean"], "temporal_mask": ALL_COLORS["temporal_mask"], UNMASKED: GREY}
MARKERS = {"adam": "o", "temporal_mask": "^", UNMASKED: "s"}
TOP = 10
"""The number of best trials of a search that are repeated on new seeds and that the paper's figures show."""
PAPER_BEST = 1.652e-2
STEPS_PER_EPOCH = 64
TRIAL = "512 steps"
"""The budget of one trial."""
SCALE = "ResNet-18 of width 8, 32 states of one level per step; 64 hard levels, 1,000 states each"


def read_trials(results: Path) -> pd.DataFrame:
    """Read the completed trials of both searches, one row per trial.

    The table has the columns of ``*_trials.csv`` and four more: ``method``; ``rank``, the rank from 1 within
    the search by validation levels, by which configurations are chosen; ``oracle_rank``, the rank by test
    levels, by which the paper chooses; and ``beta_1``.
    """
    searches = [all_trials(results, method).assign(method=method) for method in METHODS]
    trials = pd.concat(searches)
    trials = trials[trials.state == "COMPLETE"].copy()
    by_method = trials.groupby("method")
    trials["rank"] = by_method["validation/kl"].rank(method="first").astype(int)
    trials["oracle_rank"] = by_method["test/kl"].rank(method="first").astype(int)
    trials["beta_1"] = trials["optimizer.betas"].map(lambda betas: json.loads(betas)[0])
    return trials.sort_values(["method", "rank"], ignore_index=True)


def all_trials(results: Path, method: str) -> pd.DataFrame:
    """Read all trials of one search, one row per trial, failed ones included."""
    return pd.read_csv(results / FOLDER / f"{method}_trials.csv")


def read_finalists(results: Path) -> pd.DataFrame:
    """Read the repeated runs at the longest budget: one row per method, rank, seed and evaluation.

    The methods are the searches and ``UNMASKED``. The column ``steps``, the budget, is added to the file's.
    """
    rows = pd.read_csv(results / FINALISTS)
    longest: pd.DataFrame = rows[rows.epochs == rows.epochs.max()]
    return longest.assign(steps=longest.epochs * STEPS_PER_EPOCH)


def read_finalists_ends(results: Path) -> pd.DataFrame:
    """Read the last evaluation of each repeated run: one row per method, rank and seed."""
    rows = read_finalists(results)
    last: pd.DataFrame = rows[rows.epoch == rows.epoch.max()]
    return last


def comparisons(results: Path) -> dict[int, dict[str, Comparison]]:
    """Compare the mask's best configurations on new seeds with Adam's, and with themselves without the mask.

    A difference below 0 says that the mask is better.

    Returns:
        The comparisons, by number of steps (the fewest first) and by the name of the other method.
    """
    rows = pd.read_csv(results / FINALISTS_LEVELS)
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
    rows = pd.read_csv(results / FINALISTS_LEVELS)
    rows["steps"] = rows.epochs * STEPS_PER_EPOCH
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


def counts(results: Path) -> str:
    """Return the number of trials of each search as text."""
    parts = []
    for method, name in METHODS.items():
        states = all_trials(results, method).state.value_counts()
        failed = f" ({states['FAIL']} more failed)" if "FAIL" in states else ""
        parts.append(f"{states['COMPLETE']} completed trials of {name}{failed}")
    return " and ".join(parts)


def about(rows: pd.DataFrame) -> str:
    """Return the last lines under a figure: the scale, and the sources of the data."""
    return f"{SCALE};\ndata: {data_sources(rows)}"
