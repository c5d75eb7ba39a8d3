"""Figure 6: train and test accuracy of every method on the spirals, with a dot for every seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lab.experiments.spirals.methods import CHANCE, LOWEST, METHODS, read_methods, seeds
from lab.experiments.spirals.settings import FOLDERS, TWO, Setting
from lab.figures.style import COLORS, GREY, data_sources, new_figure, seeds_in_row, stamp
from lab.files.stopped_column import DIVERGED


def draw(results: Path) -> Figure:
    """Draw the methods with PyTorch's first weights and two revolutions."""
    return draw_methods(results, TWO)


def draw_methods(results: Path, setting: Setting) -> Figure:
    """Draw a row per method, with a dot per seed and a bar at the median of the seeds."""
    runs = read_methods(results, "runs", FOLDERS[setting])
    figure = new_figure(n_columns=2, height=3.9)
    panels = figure.subplots(1, 2, sharey=True)
    titles = (("train/accuracy", "training environments"), ("test/accuracy", "test: shortcuts at random"))
    labels = list(METHODS.values())
    for axes, (key, title) in zip(panels, titles, strict=True):
        for row, label in enumerate(labels):
            of_method = runs[runs.method == label]
            color = COLORS[of_method.aggregator.iloc[0]]
            seeds_in_row(axes, row, of_method[key], color)
        axes.axvline(CHANCE, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlim(min(LOWEST, runs[key].min() - 0.01), 1.01)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("accuracy")
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(len(labels) - 0.4, -0.6)
    panels[0].text(CHANCE, len(labels) - 0.45, " chance", fontsize=8, color=GREY, va="bottom")
    stamp(
        figure,
        f"dot: a seed, bar: median; {seeds(runs)};\n"
        f"best of {setting.trials} trials each by test accuracy (oracle), repeated on new seeds; "
        f"{_diverged(runs)}"
        f"paper's size; with {setting.described} and {setting.epochs} epochs (the paper's: 93); "
        f"data: {data_sources(runs)}",
    )
    return figure


def _diverged(runs: pd.DataFrame) -> str:
    """Return how many runs diverged, in words for the stamp; empty if none did."""
    count = int((runs.stopped == DIVERGED).sum())
    return f"{count} runs diverged and count as chance;\n" if count else ""
