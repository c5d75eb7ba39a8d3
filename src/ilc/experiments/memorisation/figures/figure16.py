"""Figure 16: test accuracy beside the training accuracy of figure 8."""

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
    """Solid lines and full marks: training; dashed lines and hollow marks: test, with true labels."""
    runs = threshold_runs(results)
    figure = new_figure(width=6.0, height=3.6)
    axes = figure.subplots()
    draw_thresholds(axes, runs, "train/accuracy", "-", ", train")
    draw_thresholds(axes, runs, "test/accuracy", "--", ", test")
    as_percent(axes)
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    axes.set_ylabel("accuracy, last epoch")
    axes.legend(loc="best", fontsize=9)
    n = seeds_per(runs, [THRESHOLD, NOISE])
    stamp(figure, about(runs, f"lines: median, marks: each seed, {n}"))
    return figure
