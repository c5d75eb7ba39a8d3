"""Figure 15: how many training environments the mechanism needs, with and without the AND-mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.figures.environments import (
    READING,
    SIZE,
    masked_by_size,
    plain_runs,
    read_environments,
    seeds_per_point,
)
from ilc.figures.spirals import CHANCE, LOWEST
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp

MARKERS = {"mean": "o", "and_mask": "s"}


def draw(results: Path) -> Figure:
    """Test accuracy by number of environments: every seed, the best and the median."""
    every = read_environments(results)
    runs = pd.concat([plain_runs(every, READING), masked_by_size(every)])
    figure = new_figure(width=6.4, height=3.8)
    axes = figure.subplots()
    sizes = sorted(runs[SIZE].unique())
    for aggregator, marker in MARKERS.items():
        color, label = COLORS[aggregator], LABELS[aggregator]
        chosen = runs[runs.aggregator == aggregator]
        axes.plot(chosen[SIZE], chosen["test/accuracy"], marker, color=color, alpha=0.3, ms=4, mec="none")
        accuracy = chosen.groupby(SIZE)["test/accuracy"]
        # No line over sizes that were not run.
        axes.plot(
            accuracy.max().reindex(sizes), color=color, lw=2, marker=marker, label=f"{label}, best seed"
        )
        axes.plot(accuracy.median().reindex(sizes), color=color, lw=1.2, ls="--", label=f"{label}, median")
    axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
    axes.text(sizes[0], CHANCE, "chance", fontsize=8, color=GREY, va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training environments")
    axes.set_ylabel("test accuracy")
    as_percent(axes, LOWEST)
    axes.legend(fontsize=8, loc="center left")
    stamp(
        figure,
        f"n = {seeds_per_point(runs)} seeds per point, all drawn; best one as in the paper "
        "(sees test data);\n"
        f"the thesis's configuration, the AND-mask's updates rescaled; "
        f"spirals of {READING:g} revolutions, chosen by us;\n"
        f"at most 4,096 examples per step; scale=paper; data: {data_sources(runs)}",
    )
    return figure
