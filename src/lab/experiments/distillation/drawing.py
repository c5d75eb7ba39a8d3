"""Curves over training, with a thin line for each seed and a thick line for their median."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from lab.experiments.distillation.results import COLORS, LABELS, STYLES


def draw_curves(axes: Axes, curves: pd.DataFrame, value: str, rows: Sequence[str]) -> None:
    """Draw the column ``value`` over the student's steps, for each of ``rows`` that the curves contain."""
    for row in (row for row in rows if row in set(curves.row)):
        seeds = curves[curves.row == row].pivot(index="step", columns="seed", values=value)
        axes.plot(seeds.index, seeds, color=COLORS[row], lw=0.4, alpha=0.35)
        style = STYLES.get(row, "-")
        axes.plot(seeds.index, seeds.median(axis=1), style, color=COLORS[row], lw=2, label=LABELS[row])
    axes.set_xlabel("steps of the student")


def spread(values: pd.Series, digits: int) -> str:
    """Return the median and the range as text."""
    return f"{values.median():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"
