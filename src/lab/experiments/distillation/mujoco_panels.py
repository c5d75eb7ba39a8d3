"""Curves on MuJoCo's returns with a panel for each environment, which figures 4.7 and 4.8 share."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.distillation.drawing import draw_curves
from lab.figures.style import legend_entries, new_figure, stamp

ROWS = ("no_teacher", "auxiliary", "random", "fixed")


def draw_panels(
    curves: pd.DataFrame,
    runs: pd.DataFrame,
    value: str,
    label: str,
    height: float,
    add: Callable[[Axes, str], None],
) -> Figure:
    """Draw the column ``value`` of the curves over the student's steps, in a panel for each environment.

    Args:
        curves: curves of all environments.
        runs: last rows of the same runs, which hold the settings.
        value: column to draw.
        label: label of the vertical axis.
        height: height of a panel in inches.
        add: function that draws what else belongs on the panel of an environment.
    """
    names = sorted(set(curves.environment))
    n_columns = min(len(names), 2)
    n_rows = -(-len(names) // n_columns)
    figure = new_figure(n_columns, n_rows, width=4.4, height=height)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        draw_curves(axes, curves[curves.environment == name], value, ROWS)
        add(axes, name)
        axes.set_title(_titled(runs, name), fontsize=10)
    for axes in panels[::n_columns]:
        axes.set_ylabel(label)
    lines = legend_entries(figure)
    figure.legend(lines.values(), lines.keys(), fontsize=9, ncols=3, loc="outside upper center")
    n = curves.groupby(["environment", "row"]).seed.nunique().min()
    stamp(
        figure,
        f"thick: median of n = {n} seeds, thin: each seed; reduced teacher; "
        "data: MuJoCo, random play, one collection for all seeds",
    )
    return figure


def _titled(runs: pd.DataFrame, environment: str) -> str:
    """Return a title: the environment, and the number of steps that were unrolled for its teacher."""
    distilled = runs[(runs.environment == environment) & (runs.row == "fixed")]
    return f"{environment}-v4, {distilled['teaching.n_inner'].iloc[0]} steps unrolled"
