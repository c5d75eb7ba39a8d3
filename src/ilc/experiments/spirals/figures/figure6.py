"""Figure 6: train and test accuracy of every method on the spirals, every seed visible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ilc.experiments.spirals.methods import (
    CHANCE,
    LOWEST,
    METHODS,
    SEARCHED_REVOLUTIONS,
    read_methods,
    seeds,
    trials_each,
)
from ilc.figures.style import COLORS, GREY, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """A row per method, a dot per seed, a bar at their median."""
    runs = read_methods(results, "runs")
    figure = new_figure(n_columns=2, height=3.9)
    panels = figure.subplots(1, 2, sharey=True)
    titles = (("train/accuracy", "training environments"), ("test/accuracy", "test: shortcuts at random"))
    labels = list(METHODS.values())
    for axes, (key, title) in zip(panels, titles, strict=True):
        for row, label in enumerate(labels):
            of_method = runs[runs.method == label]
            color = COLORS[of_method.aggregator.iloc[0]]
            # Seeds side by side within their row, in order, so that equal accuracies do not hide each other.
            places = row + np.linspace(-0.3, 0.3, len(of_method))
            axes.plot(of_method[key], places, "o", ms=3, color=color, alpha=0.5, mec="none", clip_on=False)
            axes.vlines(of_method[key].median(), row - 0.4, row + 0.4, color=color, lw=2.5)
        axes.axvline(CHANCE, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlim(LOWEST, 1.01)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("accuracy")
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(len(labels) - 0.4, -0.6)
    panels[0].text(CHANCE, len(labels) - 0.45, " chance", fontsize=8, color=GREY, va="bottom")
    stamp(
        figure,
        f"dot: a seed, bar: median; {seeds(runs)};\n"
        f"best of {trials_each(results)} trials each by test accuracy (oracle), repeated on new seeds; "
        f"scale=paper; {SEARCHED_REVOLUTIONS} revolutions; data: {data_sources(runs)}",
    )
    return figure
