"""Thesis, figure 4.3: test accuracy of task A by dimensions and examples, with and without a teacher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from lab.experiments.distillation.results import DIMENSIONS, FIGURE_4_3, LABELS, runs
from lab.figures.style import data_sources, new_figure, stamp

ROWS = ("no_teacher", "redrawn", "fixed")


def draw(results: Path) -> Figure:
    """Draw a heat map for each way to train, and next to it the published one."""
    table = runs(results, "privileged")
    rows = [row for row in ROWS if row in set(table.row)]
    figure = new_figure(n_columns=2, n_rows=len(rows), width=5.0, height=2.1)
    panels = figure.subplots(len(rows), 2, squeeze=False, width_ratios=(2.6, 1))
    for axes, row in zip(panels[:, 0], rows, strict=True):
        grid = table[table.row == row].pivot_table(
            index="dataset.dimensions", columns="n_train", values="best/test/accuracy", aggfunc="mean"
        )
        image = _heat_map(axes, grid, f"{LABELS[row]}: here")
    for axes in panels[len(FIGURE_4_3) :, 1]:
        axes.axis("off")  # no drawing of the fixed split is published
    for axes, values in zip(panels[:, 1], FIGURE_4_3.values(), strict=False):
        _heat_map(axes, pd.DataFrame(values, index=list(DIMENSIONS)), "authors' drawing, four of its sizes")
    figure.colorbar(image, ax=panels.ravel().tolist(), fraction=0.03, label="best test accuracy")
    n = int(table.groupby(["row", "dataset.dimensions", "n_train"]).seed.nunique().min())
    stamp(
        figure,
        f"mean of n = {n} seeds; selection: best on test data over training, as in the thesis (oracle); "
        f"data: {data_sources(table)}",
    )
    return figure


def _heat_map(axes: Axes, grid: pd.DataFrame, title: str) -> AxesImage:
    values = grid.to_numpy(dtype=float)
    image = axes.imshow(values, vmin=0.5, vmax=1.0, cmap="cividis", aspect="auto")
    axes.grid(False)
    axes.set_yticks(range(len(grid)), [str(d) for d in grid.index])
    axes.set_xticks(range(grid.shape[1]), [str(n) for n in grid.columns], fontsize=8)
    axes.set_xlabel("training examples", fontsize=9)
    axes.set_ylabel("dimensions D", fontsize=9)
    axes.set_title(title, fontsize=9)
    for (y, x), value in np.ndenumerate(values):
        if np.isnan(value):
            continue  # no run was made
        color = "white" if value < 0.75 else "black"
        axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8, color=color)
    return image
