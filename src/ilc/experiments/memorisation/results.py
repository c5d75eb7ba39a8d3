"""What the figures and tables of section 3.2 share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from ilc.figures.style import data_sources

FOLDER = Path("cifar")
LABEL_KINDS = {0.0: "true labels", 1.0: "random labels"}
KIND_COLORS = {0.0: "#56B4E9", 1.0: "#0072B2"}
MARKERS = {0.0: "o", 1.0: "s"}


def threshold_runs(results: Path) -> pd.DataFrame:
    """The runs of figures 8 and 16: BatchNorm, votes by share, every threshold and kind of label."""
    runs = pd.read_csv(results / FOLDER / "random_labels_runs.csv")
    largest = runs["dataset.n_environments"].max()
    sweep: pd.DataFrame = runs[
        (runs["model.norm"] == "batch")
        & (runs.gradients == "per_example_share")
        & (runs["dataset.n_environments"] == largest)
    ]
    return sweep


def draw_thresholds(axes: Axes, runs: pd.DataFrame, key: str, style: str, suffix: str = "") -> None:
    """Final accuracy against the threshold: a line through the medians, a mark per seed."""
    thresholds = sorted(runs["aggregator.agreement_threshold"].unique())
    for noise, label in LABEL_KINDS.items():
        chosen = runs[runs["dataset.label_noise"] == noise]
        # Thresholds lie too unevenly for a scale, so that each gets the same room.
        places = chosen["aggregator.agreement_threshold"].map(thresholds.index)
        medians = chosen.groupby("aggregator.agreement_threshold")[key].median()
        color = KIND_COLORS[noise]
        axes.plot(range(len(medians)), medians, style, color=color, lw=2, label=label + suffix)
        filled = color if style == "-" else "white"
        axes.plot(places, chosen[key], MARKERS[noise], color=color, mfc=filled, ms=5, ls="")
    axes.set_xticks(range(len(thresholds)), [f"{t:g}" for t in thresholds])
    axes.set_xlabel("agreement threshold (0: plain training)")


def about(runs: pd.DataFrame, seeds: str) -> str:
    """What the stamp says of the runs."""
    network = f"FastResNet of width {runs['model.width'].max()}, {runs.epoch.max()} epochs, batch 80"
    return f"{seeds}; {network}, scale=small;\ndata: {data_sources(runs)}"


def seeds_per(runs: pd.DataFrame, columns: list[str]) -> str:
    """``n = 3 seeds``, or the range where the groups differ."""
    n = runs.groupby(columns).seed.nunique()
    return f"n = {n.min()} seeds" if n.min() == n.max() else f"n = {n.min()} to {n.max()} seeds"
