"""Figure 16: test accuracy and training accuracy for the runs of figure 8, by agreement threshold."""

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
from lab.figures.style import as_percent, new_figure, stamp


def draw(results: Path, name: str = "random_labels") -> Figure:
    """Draw the final accuracies against the threshold.

    Solid lines and full marks show training. Dashed lines and hollow marks show the test set, whose labels
    are true.
    """
    runs = runs_of(results, name)
    if runs.empty:
        return pending_figure(pending(results, name))
    thresholds = thresholds_of(results, name)
    figure = new_figure(width=6.0, height=3.6)
    axes = figure.subplots()
    draw_thresholds(axes, runs, thresholds, "train/accuracy", "-", ", train")
    draw_thresholds(axes, runs, thresholds, "test/accuracy", "--", ", test")
    as_percent(axes)
    mark_chance(axes)
    axes.set_ylabel("accuracy, last epoch")
    axes.legend(loc="best", fontsize=9)
    n = seeds_per(runs, [THRESHOLD, NOISE])
    stamp(figure, about(runs, f"lines: median, marks: each seed, {n}", pending(results, name)))
    return figure
