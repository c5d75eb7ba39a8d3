"""How the figures of section 3.2 draw accuracies, over the epochs and by threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.memorisation.results import NOISE, RATE_FALLS, THRESHOLD
from lab.figures.style import GREY, as_percent, new_figure

LABEL_KINDS = {0.0: "true labels", 1.0: "random labels"}
KIND_COLORS = {0.0: "#009E73", 1.0: "#AA4499"}  # not two shades of one colour
MARKERS = {0.0: "o", 1.0: "s"}


class Panel(NamedTuple):
    """What one panel shows.

    Attributes:
        noise: the share of redrawn labels of its runs.
        key: the accuracy that it shows.
        title: the words above it.
    """

    noise: float
    key: str
    title: str


class Line(NamedTuple):
    """One line, which every panel has that has runs of it.

    Attributes:
        name: its words in the legend.
        color: of the line.
        style: of the line, as matplotlib names it.
        curves: the evaluations of its runs, with all kinds of label.
    """

    name: str
    color: str
    style: str
    curves: pd.DataFrame


def draw_panels(
    panels: Sequence[Panel],
    lines: Sequence[Line],
    width: float,
    height: float = 3.2,
    rate_falls: bool = False,
    legend_title: str | None = None,
    legend_columns: int = 4,
) -> Figure:
    """Draw the panels in a row below one legend. A horizontal dotted line shows chance.

    Args:
        panels: from left to right.
        lines: in the order of the legend.
        width: of a panel, in inches.
        height: of a panel, in inches.
        rate_falls: vertical dotted lines show where the learning rate falls.
        legend_title: the words above the legend.
        legend_columns: how many names stand side by side.
    """
    figure = new_figure(n_columns=len(panels), width=width, height=height)
    row = figure.subplots(1, len(panels), sharey=True)
    epochs = max(line.curves.epoch.max() for line in lines if len(line.curves))
    shown: dict[str, Artist] = {}
    for axes, panel in zip(row, panels, strict=True):
        for line in lines:
            chosen = line.curves[line.curves[NOISE] == panel.noise]
            if len(chosen):
                shown[line.name] = draw_seeds(axes, chosen, panel.key, line.color, line.style)
        for share in RATE_FALLS if rate_falls else ():
            axes.axvline(share * epochs, color=GREY, lw=0.8, ls=":")
        mark_chance(axes)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    row[0].set_ylabel("accuracy")
    names = [line.name for line in lines if line.name in shown]
    handles = [shown[name] for name in names]
    figure.legend(
        handles, names, title=legend_title, loc="outside upper center", ncols=legend_columns, fontsize=9
    )
    return figure


def draw_thresholds(
    axes: Axes, runs: pd.DataFrame, thresholds: list[float], key: str, style: str, suffix: str = ""
) -> None:
    """Draw the final accuracy against the threshold: a line through the medians and a mark per seed.

    A line ends where the next threshold was not run.
    """
    for noise, label in LABEL_KINDS.items():
        chosen = runs[runs[NOISE] == noise]
        # The thresholds are spaced too unevenly for a true scale, so they are drawn at equal distances.
        medians = chosen.groupby(THRESHOLD)[key].median().reindex(thresholds)
        color = KIND_COLORS[noise]
        axes.plot(
            medians.index.map(thresholds.index), medians, style, color=color, lw=2, label=label + suffix
        )
        filled = color if style == "-" else "white"
        places = chosen[THRESHOLD].map(thresholds.index)
        axes.plot(places, chosen[key], MARKERS[noise], color=color, mfc=filled, ms=5, ls="")
    axes.set_xticks(range(len(thresholds)), [f"{t:g}" for t in thresholds])
    axes.set_xlabel("agreement threshold (0: plain training)")


def draw_seeds(axes: Axes, curves: pd.DataFrame, key: str, color: str, style: str) -> Artist:
    """Draw a thick line for the median of the seeds, which is returned, and a thin line for each seed."""
    seeds = curves.pivot(index="epoch", columns="seed", values=key)
    if len(seeds.columns) > 1:
        axes.plot(seeds.index, seeds, style, color=color, lw=0.5, alpha=0.5)
    (median,) = axes.plot(seeds.index, seeds.median(axis=1), style, color=color, lw=1.8)
    return median


def mark_chance(axes: Axes) -> None:
    """Draw a dotted line at the accuracy of guessing."""
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
