"""Whether solutions with a lower inconsistency generalise better, with a panel for each problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from lab.experiments.theory.figures.consistency_ranks import rank_correlation
from lab.experiments.theory.solutions import DAMPING, EPSILON, reported, solutions
from lab.figures.style import COLORS, GREY, LABELS, new_figure, stamp

_MARKERS = {"mean": "o", "and_mask": "s", "geometric_mean": "D", "irm_penalty": "^"}
_SIZES = {"and_mask": 12, "geometric_mean": 6.5}
"""The sizes of marks that often lie on one another: a small one on a large one. Others have 9."""


def draw(results: Path) -> Figure:
    """Draw the scores of trained solutions over their test performance, which is better further right."""
    table = reported(solutions(results))
    problems = list(table.problem.unique())
    figure = new_figure(n_columns=3, n_rows=2, width=3.3, height=2.7)
    *panels, beside = figure.subplots(2, 3).flat
    for axes, problem in zip(panels, problems, strict=True):
        rows = table[table.problem == problem]
        for name, group in rows.groupby("aggregator"):
            _draw_method(axes, str(name), group)
        axes.set_yscale("log")
        wide = rows.worst.max() > 50 * rows.worst.min()
        subs = (1,) if wide else (1, 1.5, 2, 3, 4, 5, 7)
        axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        test_name = str(rows.test_name.iloc[0])
        if test_name == "test accuracy":
            axes.set_xlim(0.4, 1.03)
        else:
            axes.invert_xaxis()
        axes.set_xlabel(f"{test_name}, right is better", fontsize=9)
        worst, median = (rank_correlation(rows, measure) for measure in ("worst", "median"))
        axes.set_title(f"{problem}\nworst pair {worst:+.2f}, median pair {median:+.2f}", fontsize=9.5)
    for axes in (panels[0], panels[3]):
        axes.set_ylabel("inconsistency / ε, low is better", fontsize=9)
    for name, marker in _MARKERS.items():
        beside.plot([], [], marker, color=COLORS[name], label=LABELS[name])
    beside.axis("off")
    beside.legend(loc="upper left", fontsize=10)
    text = (
        "titles: rank correlation over all\n"
        "solutions of a problem, without an\n"
        "interval. +1: more consistent solutions\n"
        "generalise better; -1: worse"
    )
    beside.text(0.04, 0.12, text, transform=beside.transAxes, fontsize=9, color=GREY)
    stamp(
        figure,
        f"faint: each of {table.seed.nunique()} seeds; full: medians, one per method and threshold, "
        "bars: range of the seeds; drawn is the worst pair of environments,\n"
        f"ε = {EPSILON:g}, damping {DAMPING:g} of the largest curvature (limit {1 + 1 / DAMPING:,.0f} ε "
        "without gradients); second-order scores; synthetic data, the large spirals with 3 revolutions",
    )
    return figure


def _draw_method(axes: Axes, name: str, group: pd.DataFrame) -> None:
    style: dict[str, Any] = {"color": COLORS[name], "marker": _MARKERS[name], "ls": ""}
    axes.plot(group.test, group.worst, ms=4, alpha=0.25, mec="none", zorder=1, **style)
    for _, seeds in group.groupby("agreement_threshold", dropna=False):
        x, y = seeds.test.median(), seeds.worst.median()
        bars = [[[m - v.min()], [v.max() - m]] for m, v in ((x, seeds.test), (y, seeds.worst))]
        # White rims and unequal sizes keep methods with the same scores visible below each other.
        size = _SIZES.get(name, 9)
        order = 3 - size / 100
        axes.errorbar(x, y, yerr=bars[1], xerr=bars[0], ms=size, mec="white", lw=1, zorder=order, **style)
