"""Figure 10: the test KL divergence of the best configurations, with and without the temporal mask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.coinrun.finalists import comparisons, corrected, in_words, read_finalists_means
from lab.experiments.coinrun.trials import (
    COLORS,
    CUT,
    MARKERS,
    METHODS,
    PAPER_BEST,
    TOP,
    TRIAL,
    UNMASKED,
    about,
    counts,
    read_trials,
)
from lab.figures.style import GREY, new_figure, stamp

PLAYERS = {"adam": "Adam", "temporal_mask": "mask", UNMASKED: "mask's settings\nwithout mask"}
TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def draw(results: Path) -> Figure:
    """Draw three panels of configurations.

    The left panel shows the paper's choice by test data, the middle one our choice by validation levels on
    new seeds, and the right one all trials.
    """
    trials, means = read_trials(results), read_finalists_means(results)
    figure = new_figure(n_columns=3, width=3.6, height=4.0)
    oracle, fresh, every = figure.subplots(1, 3)
    top = trials[trials.oracle_rank <= TOP]
    _columns(oracle, {method: top[top.method == method]["test/kl"] for method in METHODS}, METHODS)
    oracle.set_title(f"top {TOP} trials by test data, {TRIAL}\n(the paper's choice, oracle)")
    oracle.set_ylabel("test KL divergence / nats")
    by_steps = comparisons(results)
    steps, found = max(by_steps.items())
    p_values = corrected(by_steps)[steps]
    last = means[means.steps == steps]
    seeds = {method: last[last.method == method]["test/kl"] for method in PLAYERS}
    _columns(fresh, seeds, PLAYERS, "mean")
    fresh.set_title(
        f"top {TOP} by validation levels, {steps:,} steps\n{found['adam'].seeds} new seeds (the claim)"
    )
    fresh.set_xlabel(
        f"mask - Adam: {in_words(found['adam'])}, p = {p_values['adam']:.2g}\n"
        f"mask - without mask: {in_words(found[UNMASKED])}, p = {p_values[UNMASKED]:.2g}",
        fontsize=9,
    )
    for method, name in METHODS.items():
        own = trials[trials.method == method]
        label = f"{name}, n = {len(own)}"
        every.plot(
            own["oracle_rank"],
            own["test/kl"],
            MARKERS[method],
            color=COLORS[method],
            ms=3,
            label=label,
        )
    constant = float(trials["constant/kl"].median())
    every.axhline(constant, color=GREY, lw=0.8, ls=":", label="student that ignores the frame")
    every.set(xlabel="rank in its search", title=f"all completed trials, {TRIAL}", yscale="log")
    every.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    every.yaxis.minorticks_off()
    every.legend(fontsize=9, loc="upper left")
    lowest, highest = (
        min(top["test/kl"].min(), last["test/kl"].min()),
        max(top["test/kl"].max(), last["test/kl"].max()),
    )
    for axes in (oracle, fresh):
        axes.set_ylim(lowest - 0.002, highest + 0.002)
    for axes in (oracle, fresh, every):
        axes.title.set_fontsize(10)
    stamp(
        figure,
        f"left and right: a point per trial, one seed each, on {CUT}; lines: medians\n"
        "middle: a point per seed, the mean of ten configurations on all 2,000 test states; lines: means;\n"
        f"differences of means with their 95 % t interval over seeds and levels; p corrected for "
        f"{2 * len(by_steps)} comparisons (Holm); one draw of levels and states for all seeds;\n"
        f"{counts(results)}; {about(trials)};\nthe paper's best, {PAPER_BEST:.5f}, is not comparable: it "
        "has another expert, and 1,024 trials at full scale",
    )
    return figure


def _columns(axes: Axes, found: dict[str, pd.Series], names: dict[str, str], middle: str = "median") -> None:
    """Draw a column of points per method, side by side so that all are visible, and their ``middle``."""
    for x, (method, values) in enumerate(found.items()):
        across = x + np.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else [x]
        axes.plot(across, values, MARKERS[method], color=COLORS[method], ms=6)
        line = float(values.agg(middle))
        axes.plot([x - 0.28, x + 0.28], [line, line], color=COLORS[method], lw=2)
        axes.annotate(f"{line:.4f}", (x + 0.3, line), va="center", fontsize=8.5, color=GREY)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set(xlim=(-0.5, len(names) - 0.3))
