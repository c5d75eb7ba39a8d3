"""Figure 15: how many training environments the mechanism needs, with and without the AND-mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ilc.experiments.spirals.environments import (
    READING,
    SIZE,
    THRESHOLD,
    UNANIMITY,
    masked_by_size,
    plain_runs,
    read_environments,
    seeds_per_point,
    size_axis,
)
from ilc.experiments.spirals.methods import CHANCE, LOWEST
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp

MARKERS = {UNANIMITY: ("s", 1.0), 0.6: ("^", 1.0), 0.2: ("D", 0.55)}
"""Marker and strength of the agreement thresholds that are drawn."""


def draw(results: Path) -> Figure:
    """Test accuracy by number of environments: with unanimity as published, and with lower thresholds."""
    every = read_environments(results)
    plain, masked = plain_runs(every, READING), masked_by_size(every)
    figure = new_figure(n_columns=2, width=4.9, height=3.6)
    published, lower = figure.subplots(1, 2)
    _line(published, plain, COLORS["mean"], ("o", 1.0), LABELS["mean"])
    for threshold, look in MARKERS.items():
        axes = published if threshold == UNANIMITY else lower
        chosen = masked[masked[THRESHOLD] == threshold]
        _line(axes, chosen, COLORS["and_mask"], look, f"{LABELS['and_mask']}, threshold {threshold:g}")
    sizes = sorted(plain[SIZE].unique())
    for axes, title in ((published, "the thesis's threshold: unanimity"), (lower, "lower thresholds")):
        axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
        size_axis(axes, sizes)
        axes.tick_params(axis="x", labelsize=9)
        axes.set_ylabel("test accuracy")
        axes.set_title(title, fontsize=10)
        as_percent(axes, LOWEST)
        axes.legend(fontsize=8)
    runs = pd.concat([plain, masked])
    stamp(
        figure,
        f"n = {seeds_per_point(runs)} seeds per point, all drawn; solid: the best one as in the paper "
        "(sees test data); dashed: median; dotted: chance;\n"
        f"the thesis's configuration, the AND-mask's updates rescaled; "
        f"spirals of {READING:g} revolutions, chosen by us;\n"
        f"at most 4,096 examples per step; {_length(runs)}; scale=paper; data: {data_sources(runs)}",
    )
    return figure


def _length(runs: pd.DataFrame) -> str:
    """How many steps the runs have, and how many of them the paper's rule ended."""
    ended = runs.stopped == "memorised"
    steps = runs[~ended].step
    fewest, most = steps.min(), steps.max()
    words = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    rule = (
        f"but {ended.sum()} of {len(runs)} runs ended earlier by the paper's rule"
        if ended.any()
        else "no stop rule"
    )
    return f"{words} steps, {rule}"


def _line(axes: Axes, runs: pd.DataFrame, color: str, look: tuple[str, float], label: str) -> None:
    """Every seed, the best and the median."""
    marker, alpha = look
    axes.plot(runs[SIZE], runs["test/accuracy"], marker, color=color, alpha=0.3 * alpha, ms=4, mec="none")
    accuracy = runs.groupby(SIZE)["test/accuracy"]
    axes.plot(accuracy.max(), color=color, alpha=alpha, lw=1.8, marker=marker, ms=6, label=label)
    axes.plot(accuracy.median(), color=color, alpha=alpha, lw=1.2, ls="--")
