"""Spirals, test accuracy: plain training stays at chance, the AND-mask finds the mechanism (one seed)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.spirals.figures.demo import CURVES
from ilc.figures.style import COLORS, as_percent
from ilc.figures.thumbnails import label, new_thumbnail


def draw(results: Path) -> Figure:
    """Both runs of the demo."""
    curves = pd.read_csv(results / CURVES)
    figure, axes = new_thumbnail("test accuracy by epoch")
    for name, run in curves.groupby("aggregator"):
        axes.plot(run.epoch, run["test/accuracy"], color=COLORS[str(name)], lw=2)
    label(axes, curves.epoch.max(), 0.9, "AND-mask", COLORS["and_mask"])
    label(axes, curves.epoch.max(), 0.6, "plain training", COLORS["mean"])
    as_percent(axes)
    return figure
