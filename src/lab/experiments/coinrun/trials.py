"""The trials of both searches, and the names and colours that all figures of section 3.3 share."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lab.figures.style import COLORS as ALL_COLORS
from lab.figures.style import GREY, LABELS, data_sources

FOLDER = Path("coinrun/search/coinrun")
CUT = "1,000 of the 2,000 test states"
"""The test states of the trials and of the finalists' curves (docs/coinrun.md)."""
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
