"""Thesis, figure 4.7: test error over training on MuJoCo's returns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.distillation.drawing import draw_curves
from ilc.experiments.distillation.results import COLORS, TABLE_C_7, mujoco
from ilc.figures.style import data_sources, new_figure, stamp

ROWS = ("no_teacher", "auxiliary", "random", "fixed")


def draw(results: Path) -> Figure:
    """A panel for each environment; dashes are the thesis's table C.7."""
    table, made = mujoco(results, "curves"), mujoco(results, "runs")
    names = sorted(set(table.environment))
    figure = new_figure(n_columns=len(names), width=5.6 if len(names) == 1 else 3.8, height=3.6)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        draw_curves(axes, table[table.environment == name], "test/mse", ROWS)
        for method, value in TABLE_C_7[name].items():
            color = COLORS["fixed" if method == "distill" else method]
            axes.axhline(value, color=color, lw=1, ls=(0, (1, 3)))
        axes.set_yscale("log")
        axes.set_title(titled(made, name), fontsize=10)
    panels[0].plot([], [], color="black", lw=1, ls=(0, (1, 3)), label="lowest in the thesis, same colours")
    panels[0].set_ylabel("test error of the return's rank")
    panels[0].legend(fontsize=8, loc="upper right")
    n = table.groupby(["environment", "row"]).seed.nunique().min()
    stamp(
        figure,
        f"thick: median of n = {n} seeds, thin: each seed; reduced teacher; data: {data_sources(made)}",
    )
    return figure


def titled(runs: pd.DataFrame, environment: str) -> str:
    """The environment, and how many steps were unrolled for its teacher."""
    distilled = runs[(runs.environment == environment) & (runs.row == "fixed")]
    return f"{environment}-v4, {distilled['teaching.n_inner'].iloc[0]} steps unrolled"
