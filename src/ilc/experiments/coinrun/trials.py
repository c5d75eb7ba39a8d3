"""What figures 10, 18, table 3 and their claim share: the two studies of CoinRun and their reading."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ilc.figures.style import LABELS, data_sources

FOLDER = Path("coinrun_bc/search")
STUDIES = {"mean": "coinrun_adam", "temporal_mask": "coinrun_temporal_mask"}
"""Studies by aggregator."""
METHODS = {"mean": "Adam", "temporal_mask": LABELS["temporal_mask"]}
"""What each is called here, where the mean over one environment is plain Adam."""
TOP = 10
"""Best trials of a study that the paper's figures show."""
PAPER_BEST = 1.652e-2
TICKS = (0.15, 0.2, 0.25, 0.3, 0.35)
"""Of logarithmic axes of the KL divergence, on which matplotlib would write powers of ten."""
SCALE = "scale=small (ResNet-18 of width 8, 256 steps of 32 states; 64 levels, 250 states each)"


def read_trials(results: Path) -> pd.DataFrame:
    """A row per completed trial of both studies, best first.

    Columns besides those of ``*_trials.csv``: ``aggregator``; ``lowest``, the lowest test KL divergence
    of the run's evaluations, by which trials are ranked; ``rank`` in its study, from 1; ``beta_1``.
    """
    lowest = read_curves(results).groupby(["aggregator", "optimizer.lr"])["test/kl"].min().rename("lowest")
    studies = []
    for aggregator in STUDIES:
        trials = all_trials(results, aggregator)
        studies.append(trials[trials.state == "COMPLETE"].assign(aggregator=aggregator))
    # A trial's learning rate, drawn from a continuous range, is its name in the curves.
    trials = pd.concat(studies).join(lowest, on=["aggregator", "optimizer.lr"], validate="one_to_one")
    trials["rank"] = trials.groupby("aggregator").lowest.rank(method="first").astype(int)
    trials["beta_1"] = trials["optimizer.betas"].map(lambda betas: json.loads(betas)[0])
    return trials.sort_values(["aggregator", "rank"], ignore_index=True)


def all_trials(results: Path, aggregator: str) -> pd.DataFrame:
    """A row per trial of one study, failed ones too."""
    return pd.read_csv(results / FOLDER / f"{STUDIES[aggregator]}_trials.csv")


def read_curves(results: Path) -> pd.DataFrame:
    """A row per evaluation of every trial."""
    return pd.read_csv(results / FOLDER / "coinrun_trials_curves.csv")


def counts(results: Path) -> str:
    """How many trials each study has, in words."""
    parts = []
    for aggregator, name in METHODS.items():
        states = all_trials(results, aggregator).state.value_counts()
        failed = f" ({states['FAIL']} more failed)" if "FAIL" in states else ""
        parts.append(f"{states['COMPLETE']} completed trials of {name}{failed}")
    return " and ".join(parts)


def about(results: Path, trials: pd.DataFrame) -> str:
    """The last lines under a figure: how many trials, at which scale, from which data."""
    return (
        f"{counts(results)}, one seed each, ranked on test data (oracle);\n"
        f"{SCALE};\ndata: {data_sources(trials)}"
    )
