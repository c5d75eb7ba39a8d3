"""Thesis, figure 4.9: lowest test error on Hopper's returns, for each change of the method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from lab.experiments.distillation.ablations import UNROLLED, WHOLE, ablations
from lab.experiments.distillation.results import COLORS, LABELS, runs
from lab.figures.style import GREY, data_sources, new_figure, stamp

TICKS = (0.0015, 0.002, 0.003, 0.005, 0.01)
PLAIN = {LABELS[row]: COLORS[row] for row in ("no_teacher", "auxiliary")}


def draw(results: Path) -> Figure:
    """Draw a mark per seed and a bar at the median, for each way to leave something out."""
    table = ablations(results)
    groups = table.groupby("case")
    medians: pd.Series = groups.lowest.median().sort_values(ascending=False)
    figure = new_figure(width=7.2, height=3.8)
    axes = figure.subplots()
    for y, case in enumerate(medians.index):
        values = groups.get_group(case).lowest
        color = COLORS["fixed"] if case.startswith(WHOLE) else PLAIN.get(str(case), GREY)
        axes.plot(values, y + np.linspace(-0.15, 0.15, len(values)), "o", color=color, ms=4)
        axes.plot(medians[case], y, "|", color="black", ms=18, mew=2)
    axes.set_yticks(range(len(medians)), list(medians.index))
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"lowest test error within {table.steps.iloc[0]:,} steps (oracle)")
    stamp(
        figure,
        f"bar: median of n = {groups.seed.nunique().min()} seeds, marks: seeds; reduced teacher, "
        f"{UNROLLED} steps unrolled unless stated;\n"
        f"data: {data_sources(runs(results, 'ablations'))}, one collection for all seeds",
    )
    return figure
