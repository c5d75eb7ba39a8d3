"""Thesis, figure 4.3: test accuracy of task A by dimensions and examples, with and without a teacher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.distillation.results import DIMENSIONS, FIGURE_4_3, FOLDER, by_replica
from ilc.figures.style import data_sources, new_figure, stamp

ROWS = {
    "no_teacher": "no teacher",
    "redrawn": "distilled, split redrawn",
    "fixed": "distilled, split fixed",
}


def best_accuracy(results: Path) -> pd.DataFrame:
    """Best test accuracy over training of every replica, with a column ``row``, a key of ``ROWS``."""
    runs = by_replica(pd.read_csv(results / FOLDER / "privileged_runs.csv"))
    runs["row"] = runs["teaching.split"].where(runs.method == "distill", "no_teacher")
    return runs.rename(columns={"dataset.dimensions": "dimensions", "best/test/accuracy": "accuracy"})


def draw(results: Path) -> Figure:
    """A heat map for each way to train, and below it the published one."""
    runs = best_accuracy(results)
    sizes = sorted(runs.n_train.unique())
    figure = new_figure(n_columns=3, n_rows=2, width=3.6, height=2.5)
    panels = figure.subplots(2, 3, squeeze=False)
    for axes, (row, title) in zip(panels[0], ROWS.items(), strict=True):
        chosen = runs[runs.row == row]
        grid = chosen.pivot_table(index="dimensions", columns="n_train", values="accuracy", aggfunc="mean")
        image = _heat_map(axes, grid.reindex(index=list(DIMENSIONS), columns=sizes))
        axes.set_title(f"{title}\n(here)", fontsize=9)
    for axes, (row, values) in zip(panels[1], FIGURE_4_3.items(), strict=False):
        published = pd.DataFrame(values, index=list(DIMENSIONS))
        _heat_map(axes, published)
        title = "no teacher" if row == "no_teacher" else "distilled, split redrawn"
        axes.set_title(f"{title}\n(authors' drawing, four sizes)", fontsize=9)
    panels[1][2].axis("off")
    bar = figure.colorbar(image, ax=panels.ravel().tolist(), fraction=0.03)
    bar.set_label("best test accuracy")
    n = int(runs.groupby(["row", "dimensions", "n_train"]).seed.nunique().min())
    stamp(
        figure,
        f"mean of n = {n} seeds; selection: best on test data over training, as the source; "
        f"data: {data_sources(runs)}",
    )
    return figure


def _heat_map(axes, grid: pd.DataFrame):  # type: ignore[no-untyped-def]
    image = axes.imshow(grid.to_numpy(dtype=float), vmin=0.5, vmax=1.0, cmap="cividis", aspect="auto")
    axes.grid(False)
    axes.set_yticks(range(len(grid)), [str(d) for d in grid.index])
    ticks = range(0, grid.shape[1], 1 if grid.shape[1] < 6 else 3)
    axes.set_xticks(list(ticks), [str(grid.columns[i]) for i in ticks], fontsize=8)
    axes.set_xlabel("training examples")
    axes.set_ylabel("D")
    for y, x in np.ndindex(grid.shape) if grid.shape[1] < 6 else ():
        value = grid.iloc[y, x]
        axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8, color="w" if value < 0.75 else "k")
    return image
