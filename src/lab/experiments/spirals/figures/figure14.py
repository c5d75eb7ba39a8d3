"""Figure 14: learning curves of every method on the spirals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.spirals.methods import CHANCE, EPOCHS, LOWEST, METHODS, RUNS, read_methods
from lab.experiments.spirals.readings import CHOSEN
from lab.figures.style import COLORS, GREY, as_percent, data_sources, new_figure, stamp

N_COLUMNS = 5
STYLES = {"train": (0, (4, 2)), "test": "-"}
ENDS = {"memorised": "x", "solved": "|"}
"""The mark at the end of a run, by the rule that ended it."""


def draw(results: Path) -> Figure:
    """Draw a panel per method, with the epochs of the trials."""
    return draw_curves(results, RUNS, EPOCHS)


def draw_curves(results: Path, folder: Path, epochs: int) -> Figure:
    """Draw a panel per method, a line per seed and set, and a mark where a rule ended the run.

    Args:
        results: the folder of the CSV files.
        folder: the folder of the methods' runs below it.
        epochs: the epochs of a run that no rule ended.
    """
    curves, runs = read_methods(results, "curves", folder), read_methods(results, "runs", folder)
    n_rows = -(-len(METHODS) // N_COLUMNS)
    figure = new_figure(n_columns=N_COLUMNS, n_rows=n_rows, width=2.0, height=2.3)
    panels = figure.subplots(n_rows, N_COLUMNS, sharex=True, sharey=True)
    for axes, label in zip(panels.flat, METHODS.values(), strict=True):
        of_method, of_runs = curves[curves.method == label], runs[runs.method == label]
        for split, color in (("train", GREY), ("test", COLORS[of_method.aggregator.iloc[0]])):
            key = f"{split}/accuracy"
            for _, run in of_method.groupby("seed"):
                axes.plot(run.epoch, run[key], ls=STYLES[split], color=color, lw=0.7, alpha=0.3)
            middle = _median(of_method, of_runs.seed.nunique(), key)
            axes.plot(middle.index, middle, ls=STYLES[split], color=color, lw=2.2)
            for rule, marker in ENDS.items():
                ended = of_runs[of_runs.stopped == rule]
                axes.plot(ended.epoch, ended[key], marker, color=color, ms=5)
        axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
        as_percent(axes, LOWEST)
        axes.set_title(f"{label}, n = {of_runs.seed.nunique()}", fontsize=10)
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy")
    for axes in panels[-1]:
        axes.set(xticks=range(0, epochs, 20), xlabel="epoch")
    solved = ", bar: stopped when all examples were right" if (runs.stopped == "solved").any() else ""
    stamp(
        figure,
        "thin: a line per seed, thick: median over all seeds, in which a run that was stopped keeps its "
        "last value; grey and dashed: training, coloured: test; cross: stopped by the paper's rule "
        f"(train above 97 %, test below 60 %){solved};\n"
        f"dotted: chance; paper's size, {epochs} of its 93 epochs; {CHOSEN.revolutions:g} revolutions; "
        f"data: {data_sources(runs)}",
    )
    return figure


def _median(curves: pd.DataFrame, n_seeds: int, key: str) -> pd.Series:
    """Return the median over seeds by epoch. A run that was stopped keeps its last value."""
    by_seed = curves.pivot_table(index="epoch", columns="seed", values=key).ffill()
    middle: pd.Series = by_seed.median(axis="columns")[by_seed.notna().sum(axis="columns") == n_seeds]
    return middle
