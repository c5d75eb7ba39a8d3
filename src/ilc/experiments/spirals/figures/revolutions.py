"""Three published results against the number of revolutions of the spirals, which no source states."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ilc.experiments.spirals.environments import (
    PUBLISHED_SIZE,
    REVOLUTIONS,
    SIZE,
    masked_by_revolutions,
    plain_runs,
    read_environments,
    seeds_per_point,
    size_axis,
)
from ilc.experiments.spirals.methods import CHANCE, LOWEST
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp

MARKERS = {1.0: "o", 1.5: "^", 2.0: "s", 3.0: "D"}
SHOWN = (128, 256, 512, 1024)
"""Where plain training was run with every number of revolutions."""
CORRELATIONS = Path("spirals/correlations_revolutions.csv")
PUBLISHED_CORRELATION = 0.4
"""Thesis, beside its figure 3.7: about 0.4."""


def draw(results: Path) -> Figure:
    """The AND-mask, plain training on many environments, and the gradient of an untrained network."""
    runs = read_environments(results)
    figure = new_figure(n_columns=3, width=3.6)
    left, middle, right = figure.subplots(1, 3)
    _masked(left, runs)
    _plain(middle, runs)
    _untrained(right, pd.read_csv(results / CORRELATIONS))
    for axes in (left, middle):
        axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
        axes.set_ylabel("test accuracy")
        as_percent(axes, LOWEST)
    for axes in (left, middle, right):
        axes.title.set_fontsize(10)
        axes.legend(fontsize=8)
    stamp(
        figure,
        f"n = {seeds_per_point(runs)} seeds per point, all drawn; the thesis's configuration; lines: left "
        "medians,\nmiddle the best seeds as in the paper (sees test data); right: ten networks, no interval; "
        f"scale=paper; data: {data_sources(runs)}",
    )
    return figure


def _masked(axes: Axes, runs: pd.DataFrame) -> None:
    color = COLORS["and_mask"]
    for rescaled, marker, style, name in (
        (True, "s", "-", "updates rescaled"),
        (False, "o", "--", "not rescaled"),
    ):
        chosen = masked_by_revolutions(runs, rescaled)
        axes.plot(
            chosen[REVOLUTIONS], chosen["test/accuracy"], marker, color=color, alpha=0.4, ms=5, mec="none"
        )
        axes.plot(chosen.groupby(REVOLUTIONS)["test/accuracy"].median(), style, color=color, lw=2, label=name)
    axes.set_xticks(list(MARKERS))
    axes.set(xlabel="revolutions per spiral", title=f"{LABELS['and_mask']}, {PUBLISHED_SIZE} environments")


def _plain(axes: Axes, runs: pd.DataFrame) -> None:
    color = COLORS["mean"]
    for turns, marker in MARKERS.items():
        chosen = plain_runs(runs, turns)
        chosen = chosen[chosen[SIZE].isin(SHOWN)]
        alpha = 1 / turns
        axes.plot(chosen[SIZE], chosen["test/accuracy"], marker, color=color, alpha=0.3 * alpha, ms=4)
        best = chosen.groupby(SIZE)["test/accuracy"].max()
        name = f"{turns:g} revolution{'' if turns == 1 else 's'}"
        axes.plot(best, marker=marker, color=color, alpha=alpha, lw=1.6, ms=5, label=name)
    size_axis(axes, SHOWN)
    axes.set_title(LABELS["mean"])


def _untrained(axes: Axes, correlations: pd.DataFrame) -> None:
    color = COLORS["and_mask"]
    correlation = correlations["mechanism_correlation"]
    axes.plot(correlations.revolutions, correlation, "o", color=color, alpha=0.4, ms=5, mec="none")
    axes.plot(
        correlation.groupby(correlations.revolutions).mean(), color=color, lw=2, label="ten networks, mean"
    )
    axes.axhline(PUBLISHED_CORRELATION, color=GREY, lw=1.2, ls="--", label="thesis: about 0.4")
    axes.set_xticks(list(MARKERS))
    axes.set(xlabel="revolutions per spiral", ylabel="correlation with the mechanism's", ylim=(0, 1))
    axes.set_title("average gradient, untrained network")
