"""Figure 15: how many training environments the mechanism needs, with and without the AND-mask."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.figures.spirals import CHANCE, LOWEST, read_environments, seeds_per_point
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp

MARKERS = {"mean": "o", "and_mask": "s"}


def draw(results: Path) -> Figure:
    """Test accuracy by number of environments: every seed, the best and the median."""
    runs = read_environments(results)
    figure = new_figure(width=6.4, height=3.8)
    axes = figure.subplots()
    sizes = sorted(runs["dataset.n_environments"].unique())
    for aggregator, marker in MARKERS.items():
        color = COLORS[aggregator]
        of_aggregator = runs[runs.aggregator == aggregator]
        by_size = of_aggregator.groupby("dataset.n_environments")["test/accuracy"]
        axes.plot(
            of_aggregator["dataset.n_environments"],
            of_aggregator["test/accuracy"],
            marker,
            color=color,
            alpha=0.3,
            ms=4,
            mec="none",
        )
        # No line over sizes that were not run.
        axes.plot(
            by_size.max().reindex(sizes),
            color=color,
            lw=2,
            marker=marker,
            label=f"{LABELS[aggregator]}, best seed",
        )
        axes.plot(
            by_size.median().reindex(sizes),
            color=color,
            lw=1.2,
            ls="--",
            label=f"{LABELS[aggregator]}, median",
        )
    axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
    axes.text(runs["dataset.n_environments"].min(), CHANCE, "chance", fontsize=8, color=GREY, va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training environments")
    axes.set_ylabel("test accuracy")
    as_percent(axes, LOWEST)
    axes.legend(fontsize=8, loc="upper left")
    stamp(
        figure,
        f"n = {seeds_per_point(runs)} seeds per point, all drawn; best one as in the paper (sees test data);"
        "\nthe AND-mask's settings for both, at most 8,192 examples per step; scale=paper; "
        f"data: {data_sources(runs)}",
    )
    return figure
