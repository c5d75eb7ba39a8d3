"""Thesis, figure 4.8: how far the test error is above the training error, on MuJoCo's returns."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.distillation.drawing import draw_curves
from ilc.experiments.distillation.figures.figure4_7 import ROWS, titled
from ilc.experiments.distillation.results import mujoco
from ilc.figures.style import GREY, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """A panel for each environment."""
    table, made = mujoco(results, "curves"), mujoco(results, "runs")
    table["gap"] = table["test/mse"] - table["train/mse"]
    names = sorted(set(table.environment))
    figure = new_figure(n_columns=len(names), width=5.6 if len(names) == 1 else 3.8, height=3.4)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        draw_curves(axes, table[table.environment == name], "gap", ROWS)
        axes.axhline(0, color=GREY, lw=0.8)
        axes.set_title(titled(made, name), fontsize=10)
    panels[0].set_ylabel("test error less training error")
    panels[0].legend(fontsize=8, loc="upper right")
    n = table.groupby(["environment", "row"]).seed.nunique().min()
    stamp(
        figure,
        f"thick: median of n = {n} seeds, thin: each seed; reduced teacher; data: {data_sources(made)}",
    )
    return figure
