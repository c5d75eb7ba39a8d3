"""Train and test accuracy of `make demo` by epoch, with plain training and with the AND-mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp

CURVES = Path("spirals/demo_curves.csv")
RUNS = Path("spirals/demo_runs.csv")


def draw(results: Path) -> Figure:
    """Draw the figure from the committed runs."""
    return draw_curves(pd.read_csv(results / CURVES), pd.read_csv(results / RUNS))


def draw_curves(curves: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Draw a panel for the training environments and one for the test set: a line per aggregator and seed."""
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    titles = ("train/accuracy", "training environments"), ("test/accuracy", "test: shortcuts at random")
    for axes, (key, title) in zip(panels, titles, strict=True):
        for (aggregator, seed), run in curves.groupby(["aggregator", "seed"]):
            name = str(aggregator)
            label = LABELS[name] if seed == curves.seed.min() else None
            axes.plot(run.epoch, run[key], color=COLORS[name], label=label, lw=1.8)
        axes.axhline(0.5, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    panels[0].legend(loc="center right")
    panels[1].text(curves.epoch.max(), 0.51, "chance", ha="right", va="bottom", fontsize=8, color=GREY)
    n_seeds = runs.groupby("aggregator").seed.nunique().min()
    stamp(
        figure,
        f"{'one seed' if n_seeds == 1 else f'n = {n_seeds} seeds, all drawn'}; paper's size, 2 revolutions, "
        "93 epochs; "
        f"data: {data_sources(runs)}",
    )
    return figure
