"""What the figures and tables of section 3.2 share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from ilc.figures.style import GREY, data_sources

FOLDER = Path("cifar")
THRESHOLD = "aggregator.agreement_threshold"
NOISE = "dataset.label_noise"
LABEL_KINDS = {0.0: "true labels", 1.0: "random labels"}
KIND_COLORS = {0.0: "#56B4E9", 1.0: "#0072B2"}
MARKERS = {0.0: "o", 1.0: "s"}
RATE_FALLS = (40, 60)
"""Epochs after which the learning rate of the experiment with random labels falls tenfold."""
BEST_RATES = {"mean": 1e-3, "and_mask": 5e-3}
"""Learning rates under label noise that the paper found best."""
SAME_RATE = {"mean": BEST_RATES["and_mask"]}
"""Plain training at the rate of the mask, so that what the rate does is not taken for the mask's."""


def threshold_runs(results: Path, norm: str = "batch") -> pd.DataFrame:
    """The last epochs of figures 8 and 16: every threshold and kind of label."""
    return _with_norm(results / FOLDER / "random_labels_runs.csv", norm)


def threshold_curves(results: Path, norm: str = "batch") -> pd.DataFrame:
    """The same over the epochs."""
    return _with_norm(results / FOLDER / "random_labels_curves.csv", norm)


def _with_norm(path: Path, norm: str) -> pd.DataFrame:
    runs = pd.read_csv(path)
    chosen: pd.DataFrame = runs[runs["model.norm"] == norm]
    return chosen


def label_noise_curves(results: Path, rates: dict[str, float]) -> pd.DataFrame:
    """Training with 25 % of the labels redrawn over the epochs: a learning rate per aggregator."""
    curves = pd.read_csv(results / FOLDER / "label_noise_curves.csv")
    chosen: pd.DataFrame = curves[curves["optimizer.lr"] == curves.aggregator.map(rates)]
    return chosen


def draw_thresholds(axes: Axes, runs: pd.DataFrame, key: str, style: str, suffix: str = "") -> None:
    """Final accuracy against the threshold: a line through the medians, a mark per seed."""
    thresholds = sorted(runs[THRESHOLD].unique())
    for noise, label in LABEL_KINDS.items():
        chosen = runs[runs[NOISE] == noise]
        # Thresholds lie too unevenly for a scale, so that each gets the same room.
        medians = chosen.groupby(THRESHOLD)[key].median()
        color = KIND_COLORS[noise]
        axes.plot(
            medians.index.map(thresholds.index), medians, style, color=color, lw=2, label=label + suffix
        )
        filled = color if style == "-" else "white"
        places = chosen[THRESHOLD].map(thresholds.index)
        axes.plot(places, chosen[key], MARKERS[noise], color=color, mfc=filled, ms=5, ls="")
    axes.set_xticks(range(len(thresholds)), [f"{t:g}" for t in thresholds])
    axes.set_xlabel("agreement threshold (0: plain training)")


def draw_seeds(axes: Axes, curves: pd.DataFrame, key: str, color: str, style: str, label: str) -> None:
    """A measure over the epochs: thick the median of the seeds, thin each of them."""
    seeds = curves.pivot(index="epoch", columns="seed", values=key)
    if len(seeds.columns) > 1:
        axes.plot(seeds.index, seeds, style, color=color, lw=0.5, alpha=0.5)
    axes.plot(seeds.index, seeds.median(axis=1), style, color=color, lw=1.8, label=label)


def mark_rate_falls(axes: Axes) -> None:
    """Dotted lines where the learning rate falls."""
    for epoch in RATE_FALLS:
        axes.axvline(epoch, color=GREY, lw=0.8, ls=":")


def about(runs: pd.DataFrame, seeds: str, votes: str = "local votes") -> str:
    """What the stamp says of the runs."""
    size = runs["dataset.image_size"].max()
    norm = ", GroupNorm" if set(runs.get("model.norm", ())) == {"group"} else ""
    network = f"FastResNet of width {runs['model.width'].max()}{norm}, {runs.epoch.max()} epochs, batch 80"
    return f"{seeds};\n{network}, {votes}, scale=small;\ndata: {data_sources(runs)}, {size} x {size} pixels"


def seeds_per(runs: pd.DataFrame, columns: list[str]) -> str:
    """``n = 3 seeds``, or the range where the groups differ."""
    n = runs.groupby(columns).seed.nunique()
    if n.min() < n.max():
        return f"n = {n.min()} to {n.max()} seeds"
    return f"n = {n.min()} seeds" if n.min() > 1 else "n = 1 seed"
