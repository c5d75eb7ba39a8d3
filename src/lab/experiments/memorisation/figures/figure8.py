"""Figure 8: training accuracy on random and on true labels of CIFAR-10 (JPEG copy), by threshold."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import draw_thresholds, mark_chance
from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    pending,
    runs_of,
    seeds_per,
    thresholds_of,
)
from lab.figures.pending import pending_figure
from lab.figures.style import GREY, as_percent, new_figure, stamp


def draw(results: Path, name: str = "random_labels") -> Figure:
    """Draw the final training accuracy against the threshold."""
    runs = runs_of(results, name)
    if runs.empty:
        return pending_figure(pending(results, name))
    figure = new_figure(width=6.0, height=3.6)
    axes = figure.subplots()
    draw_thresholds(axes, runs, thresholds_of(results, name), "train/accuracy", "-")
    as_percent(axes)
    mark_chance(axes)
    axes.text(0, 0.11, "chance", fontsize=8, color=GREY)
    axes.set_ylabel("train accuracy, last epoch")
    axes.legend(loc="best")
    n = seeds_per(runs, [THRESHOLD, NOISE])
    stamp(figure, about(runs, f"lines: median, marks: each seed, {n}", pending(results, name)))
    return figure
