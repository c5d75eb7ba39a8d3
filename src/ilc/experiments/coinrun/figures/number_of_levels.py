"""How far the temporal AND-mask is ahead of Adam on CoinRun, by the number of training levels."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.coinrun.number_of_levels import differences, read_number_of_levels
from ilc.experiments.coinrun.trials import COLORS, MARKERS, METHODS
from ilc.figures.style import GREY, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """Left the test divergence of every seed, right the difference with its interval."""
    rows = read_number_of_levels(results)
    figure = new_figure(n_columns=2)
    each, ahead = figure.subplots(1, 2)
    for off, (method, name) in zip((0.94, 1.06), METHODS.items(), strict=True):
        own = rows[rows.method == method]
        each.plot(
            own.levels * off,
            own["test/kl"],
            MARKERS[method],
            color=COLORS[method],
            ms=5,
            alpha=0.7,
            mec="none",
        )
        medians = own.groupby("levels")["test/kl"].median()
        each.plot(medians.index * off, medians, color=COLORS[method], lw=1.5, label=name)
    each.set(ylabel="test KL divergence / nats", title="every run")
    each.legend(fontsize=8.5)
    found = differences(rows)
    ahead.axhline(0, color=GREY, lw=0.8)
    middle = found["mean"]
    ahead.errorbar(
        found.index, middle, [middle - found.low, found.high - middle], fmt="o-", color="black", capsize=4
    )
    ahead.set(ylabel="test KL / nats", title="mask - Adam (below 0: mask better)")
    levels = sorted(rows.levels.unique())
    for axes in (each, ahead):
        axes.set_xscale("log")
        axes.set_xticks(levels, [str(level) for level in levels])
        axes.xaxis.minorticks_off()
        axes.title.set_fontsize(10)
        axes.set_xlabel("training levels, 64,000 states in all")
    stamp(
        figure,
        f"n = {rows.seed.nunique()} seeds, the best configuration of either search at 64 levels; left: a "
        "point per run, lines: medians;\nright: mean of the seeds' differences with its 95 % t interval; "
        f"ResNet-18 of width 8, 512 steps of 32 states of one level;\ndata: {data_sources(rows)}",
    )
    return figure
