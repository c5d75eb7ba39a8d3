"""Test KL on CoinRun with and without the temporal AND-mask, by the number of training levels."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.coinrun.number_of_levels import comparisons, read_number_of_levels
from lab.experiments.coinrun.trials import COLORS, MARKERS, METHODS, UNMASKED
from lab.figures.holm import LEVEL
from lab.figures.style import GREY, data_sources, new_figure, stamp

NAMES = {**METHODS, UNMASKED: "mask's settings without the mask"}
ASIDE = 1.07
"""The factor by which methods are shifted sideways, so that none hides another."""

TICKS = (0.1, 0.2, 0.4, 0.8)
DIFFERENCES = (-0.2, -0.1, -0.05, -0.025, 0, 0.025, 0.05, 0.1, 0.2)
LINEAR = 0.05
"""The axis of the differences is linear up to this value and logarithmic beyond it, because with few levels
the seeds differ more."""


def draw(results: Path) -> Figure:
    """Draw every seed's test divergence on the left, and the two differences with intervals on the right."""
    rows = read_number_of_levels(results)
    figure = new_figure(n_columns=2)
    each, ahead = figure.subplots(1, 2)
    for place, (method, name) in enumerate(NAMES.items()):
        own, off = rows[rows.method == method], ASIDE ** (place - 1)
        look = {"color": COLORS[method], "marker": MARKERS[method]}
        each.plot(own.levels * off, own["test/kl"], ls="", ms=4, alpha=0.6, mec="none", **look)
        medians = own.groupby("levels")["test/kl"].median()
        each.plot(medians.index * off, medians, lw=1.5, label=name, ms=5, **look)
    each.set(ylabel="test KL divergence / nats", title="every run", yscale="log")
    each.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    each.yaxis.minorticks_off()
    each.legend(fontsize=8.5)
    ahead.axhline(0, color=GREY, lw=0.8)
    compared = comparisons(rows)
    for off, other in ((1 / ASIDE, "adam"), (ASIDE, UNMASKED)):
        found = compared[compared.other == other].set_index("levels")
        middle = found["mean"]
        ahead.errorbar(
            found.index * off,
            middle,
            [middle - found.low, found.high - middle],
            fmt=f"{MARKERS[other]}-",
            color=COLORS[other],
            capsize=4,
            label=f"mask - {NAMES[other]}",
        )
    ahead.set(ylabel="difference in test KL / nats", title="below 0: the mask is better")
    ahead.set_yscale("symlog", linthresh=LINEAR)
    ahead.set_yticks(DIFFERENCES, [f"{tick:g}" for tick in DIFFERENCES])
    ahead.yaxis.minorticks_off()
    ahead.legend(fontsize=8.5, loc="lower right")
    levels = sorted(rows.levels.unique())
    for axes in (each, ahead):
        axes.set_xscale("log")
        axes.set_xticks(levels, [str(level) for level in levels])
        axes.xaxis.minorticks_off()
        axes.title.set_fontsize(10)
        axes.set_xlabel("training levels, 64,000 states in all")
    stamp(
        figure,
        f"n = {rows.seed.nunique()} seeds; settings: the best of either search at 64 levels, used for all "
        "numbers of levels; left: a point per run, lines: medians;\nright: mean of the seeds' differences "
        "with its 95 % t interval over seeds; axis linear to .05, then logarithmic;\n"
        f"corrected for {len(compared)} comparisons (Holm), p is below .05 in "
        f"{(compared.corrected < LEVEL).sum()} of them; test: all 2,000 states; one draw of levels and "
        "states for all seeds;\nResNet-18 of width 8, 1,024 steps of 32 states of one level; data: "
        f"{data_sources(rows)}",
    )
    return figure
