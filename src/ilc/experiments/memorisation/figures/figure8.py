"""Figure 8: training accuracy on random and on true labels, by threshold."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    draw_thresholds,
    seeds_per,
    threshold_runs,
)
from ilc.figures.style import GREY, as_percent, new_figure, stamp


def draw(results: Path) -> Figure:
    """Final training accuracy against the threshold."""
    runs = threshold_runs(results)
    figure = new_figure(width=6.0, height=3.6)
    axes = figure.subplots()
    draw_thresholds(axes, runs, "train/accuracy", "-")
    as_percent(axes)
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    axes.text(0, 0.11, "chance", fontsize=8, color=GREY)
    axes.set_ylabel("train accuracy, last epoch")
    axes.legend(loc="best")
    n = seeds_per(runs, [THRESHOLD, NOISE])
    stamp(figure, about(runs, f"lines: median, marks: each seed, {n}"))
    return figure
