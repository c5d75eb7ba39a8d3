"""What section 3.3's figures, table and claims share: two searches, their best on new seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lab.experiments.coinrun.comparison import Comparison, compare
from lab.figures.style import COLORS as ALL_COLORS
from lab.figures.style import GREY, LABELS, data_sources

FOLDER = Path("coinrun/search/coinrun")
FINALISTS = "coinrun/finalists.csv"
FINALISTS_LEVELS = "coinrun/finalists_levels.csv"
METHODS = {"adam": "Adam", "temporal_mask": LABELS["temporal_mask"]}
"""Searches of ``conf/search/coinrun/coinrun.yaml``, and what they are called here."""
UNMASKED = "unmasked"
"""The mask's best configurations without the mask: Adam with settings that its own search may have missed."""
COLORS = {"adam": ALL_COLORS["mean"], "temporal_mask": ALL_COLORS["temporal_mask"], UNMASKED: GREY}
MARKERS = {"adam": "o", "temporal_mask": "^", UNMASKED: "s"}
TOP = 10
"""Best trials of a search that are made again on new seeds, and that the paper's figures show."""
PAPER_BEST = 1.652e-2
STEPS_PER_EPOCH = 64
TRIAL = "512 steps"
"""The budget of a trial."""
SCALE = "ResNet-18 of width 8, 32 states of one level per step; 64 hard levels, 1,000 states each"


def read_trials(results: Path) -> pd.DataFrame:
    """A row per completed trial of both searches.

    Columns besides those of ``*_trials.csv``: ``method``; ``rank`` in its search by validation levels, which
    chooses, from 1; ``oracle_rank`` by test levels, the paper's choice; ``beta_1``.
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
    """A row per trial of one search, failed ones too."""
    return pd.read_csv(results / FOLDER / f"{method}_trials.csv")


def read_finalists(results: Path) -> pd.DataFrame:
    """A row per method (searches and ``UNMASKED``), rank, seed and evaluation, at the longest budget.

    Columns besides those of the file: ``steps``, the budget.
    """
    rows = pd.read_csv(results / FINALISTS)
    longest: pd.DataFrame = rows[rows.epochs == rows.epochs.max()]
    return longest.assign(steps=longest.epochs * STEPS_PER_EPOCH)


def read_finalists_ends(results: Path) -> pd.DataFrame:
    """A row per method, rank and seed: the last evaluation."""
    rows = read_finalists(results)
    last: pd.DataFrame = rows[rows.epoch == rows.epoch.max()]
    return last


def comparisons(results: Path) -> dict[int, dict[str, Comparison]]:
    """The mask's best configurations on new seeds against Adam's and themselves unmasked; below 0: better.

    Returns:
        By number of steps, the fewest first, and by what they are compared with.
    """
    rows = pd.read_csv(results / FINALISTS_LEVELS)
    return {
        epochs * STEPS_PER_EPOCH: {
            other: compare(rows[rows.epochs == epochs], "temporal_mask", other)
            for other in ("adam", UNMASKED)
        }
        for epochs in sorted(rows.epochs.unique().tolist())
    }


def in_words(found: Comparison) -> str:
    """The difference and its interval."""
    low, high = found.interval
    return f"{found.difference:+.4f} ({low:+.4f} to {high:+.4f})"


def counts(results: Path) -> str:
    """How many trials each search has, in words."""
    parts = []
    for method, name in METHODS.items():
        states = all_trials(results, method).state.value_counts()
        failed = f" ({states['FAIL']} more failed)" if "FAIL" in states else ""
        parts.append(f"{states['COMPLETE']} completed trials of {name}{failed}")
    return " and ".join(parts)


def about(rows: pd.DataFrame) -> str:
    """The last lines under a figure: the scale, and which data."""
    return f"{SCALE};\ndata: {data_sources(rows)}"
