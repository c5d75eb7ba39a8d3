"""Figure 7 in the thesis's form (3.7): what the AND-mask and the XOR-mask keep, by agreement threshold."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom

from lab.experiments.spirals.correlations import (
    MIN_COMPONENTS,
    N_ENVIRONMENTS,
    SETUP,
    SIGNALS,
    read_correlations,
)
from lab.experiments.spirals.settings import TWO
from lab.experiments.spirals.unanimous import FEWEST_COMPONENTS, NETWORKS
from lab.figures.style import GREY, new_figure, stamp

DASHES = {"mechanism": "-", "shortcut": "--"}
MARKERS = {"mechanism": "o", "shortcut": "^"}
PARTS = {"all": "all parameters", "first layer weights": "weights of the first layer"}
MASKS = ("xor_mask", "and_mask")
# The XOR-mask at threshold 1 drops only unanimous components, the AND-mask at 0 drops none. So the two
# curves almost meet in the middle, where this gap is left between them.
GAP = 0.05


def draw(results: Path) -> Figure:
    """Draw a row per part of the network: correlation, slope of the regression line, and kept share."""
    rows = read_correlations(results)
    figure = new_figure(n_columns=3, n_rows=2, width=3.1, height=2.7)
    panels = figure.subplots(2, 3, sharex=True)
    for (correlation, slope, share), (part, title) in zip(panels, PARTS.items(), strict=True):
        chosen = rows[rows.parameters == part]
        for axes, quantity in ((correlation, "correlation"), (slope, "slope")):
            for name, color in SIGNALS.items():
                _lines(axes, chosen, f"{name}_{quantity}", color, DASHES[name], MARKERS[name], name)
            axes.set_ylim(-0.03, 1.08)
        _lines(share, chosen, "kept_share", "black", "-", "o", "kept")
        _chance(share)
        share.set_yscale("log")
        correlation.set_ylabel(title)
    for axes, title in zip(
        panels[0], ("correlation", "slope of the regression line", "kept share"), strict=True
    ):
        axes.set_title(title, fontsize=10)
    unanimous = _unanimous(panels[0, 0], results)
    for axes in panels.flat:
        axes.axvline(0, color=GREY, lw=0.8)
    for axes in panels[1]:
        _threshold_axis(axes)
    panels[0, 1].legend(loc="center left", fontsize=8, handlelength=1.6)
    panels[0, 2].legend(loc="lower left", fontsize=8, handlelength=1.2)
    stamp(
        figure,
        f"n = {rows.seed.nunique()} networks; thin: each network, bold: median where every network has a "
        f"value, no interval; masks that keep fewer than {MIN_COMPONENTS} components are left out;\n"
        "correlation and slope of one signal's gradient over the kept components of the average; a point "
        "for every distinct mask of 16 votes;\nopen marks at threshold 1: median and quartiles of "
        f"{unanimous} other networks with at least {FEWEST_COMPONENTS} kept components; {SETUP}; data: "
        f"{', '.join(rows.data_source.unique())}",
    )
    return figure


def _place(mask: str, threshold: pd.Series) -> pd.Series:
    """Return the x coordinates of thresholds.

    The thresholds of the XOR-mask end in the middle of the axis, and those of the AND-mask begin there. In
    the middle, (nearly) all components are kept.
    """
    return threshold - 1 - GAP if mask == "xor_mask" else threshold + GAP


def _lines(
    axes: Axes, rows: pd.DataFrame, column: str, color: str, dashes: str, marker: str, label: str
) -> None:
    for mask in MASKS:
        chosen = rows[rows["mask"] == mask]
        for _, network in chosen.groupby("seed"):
            places = _place(mask, network.agreement_threshold)
            axes.plot(places, network[column], dashes, color=color, lw=0.6, alpha=0.45)
        by_threshold = chosen.groupby("agreement_threshold")[column]
        median = by_threshold.median()[by_threshold.size() == rows.seed.nunique()]
        places = _place(mask, median.index.to_series())
        shown = label if mask == "and_mask" else None
        axes.plot(places, median, dashes, marker=marker, ms=4, color=color, lw=2, label=shown)


def _unanimous(axes: Axes, results: Path) -> int:
    """Draw the correlations at threshold 1, and return the number of networks."""
    rows = pd.read_csv(results / NETWORKS)
    rows = rows[(rows.revolutions == TWO.revolutions) & (rows.agreement_threshold == 1)]
    rows = rows[rows.kept_components >= FEWEST_COMPONENTS]
    for name, color in SIGNALS.items():
        low, middle, high = rows[f"{name}_correlation"].quantile([0.25, 0.5, 0.75])
        axes.errorbar(
            1 + GAP,
            middle,
            yerr=[[middle - low], [high - middle]],
            color=color,
            fmt=MARKERS[name],
            ms=6,
            mfc="white",
        )
    return len(rows)


def _chance(axes: Axes) -> None:
    """Draw the share that would be kept if every sign were a coin toss."""
    votes = np.arange(0, N_ENVIRONMENTS + 1, 2)
    kept = [_share_of_coins(int(v)) for v in votes]
    thresholds = pd.Series(votes / N_ENVIRONMENTS)
    axes.plot(_place("and_mask", thresholds), kept, ":", color=GREY, label="random signs")
    dropped = 1 - np.array(kept[1:])
    axes.plot(_place("xor_mask", thresholds[1:]), dropped, ":", color=GREY)


def _share_of_coins(votes: int) -> float:
    """Return the probability that |sum of 16 random signs| is at least ``votes``."""
    at_least = math.ceil((N_ENVIRONMENTS + votes) / 2)
    return min(1.0, 2 * float(binom.sf(at_least - 1, N_ENVIRONMENTS, 0.5)))


def _threshold_axis(axes: Axes) -> None:
    ticks = [0.0, 0.5, 1.0]
    places = [t - 1 - GAP for t in ticks[1:]] + [t + GAP for t in ticks]
    axes.set_xticks(places, [f"{t:g}" for t in ticks[1:] + ticks], fontsize=8)
    axes.set_xlabel("XOR-mask \N{LEFTWARDS ARROW} threshold \N{RIGHTWARDS ARROW} AND-mask", fontsize=9)
