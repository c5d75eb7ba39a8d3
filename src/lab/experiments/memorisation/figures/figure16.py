"""Figure 16: test accuracy and training accuracy for the runs of figure 8, by agreement threshold."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.by_threshold import last_values, late_rise
from lab.experiments.memorisation.drawing import draw_thresholds, mark_chance
from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    curves_of,
    pending,
    runs_of,
    seeds_per,
    thresholds_of,
)
from lab.figures.pending import pending_figure
from lab.figures.style import as_percent, median_and_range, new_figure, stamp


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


def tabulate(results: Path, name: str = "random_labels") -> pd.DataFrame:
    """Return a row per threshold with the accuracies at the last epoch in per cent, medians and ranges."""
    runs = runs_of(results, name)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, name)}])
    nothing = pd.Series(dtype=float)
    tables = (
        last_values(runs, 1.0, "train/accuracy"),
        late_rise(curves_of(results, name)),
        last_values(runs, 0.0, "train/accuracy"),
        last_values(runs, 0.0, "test/accuracy"),
    )
    rows = []
    for threshold in thresholds_of(results, name):
        random, gained, train, test = (table.get(threshold, nothing).dropna() for table in tables)
        rows.append(
            {
                "threshold": f"{threshold:g}",
                "random labels: seeds": len(random),
                "random labels: training set": _in_words(random),
                "random labels: gain at the last learning rate": _in_words(gained),
                "true labels: seeds": len(test),
                "true labels: training set": _in_words(train),
                "true labels: test set": _in_words(test),
            }
        )
    return pd.DataFrame(rows)


def _in_words(values: pd.Series) -> str:
    return "pending" if values.empty else median_and_range(values)
