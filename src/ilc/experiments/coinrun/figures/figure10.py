"""Figure 10: the lowest test KL divergence of the best trials, with and without the temporal mask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ilc.experiments.coinrun.trials import METHODS, PAPER_BEST, TICKS, TOP, about, read_trials
from ilc.figures.style import COLORS, GREY, new_figure, stamp

MARKERS = {"mean": "o", "temporal_mask": "^"}


def draw(results: Path) -> Figure:
    """Left the top-10 trials of either study, right all of them by rank."""
    trials = read_trials(results)
    figure = new_figure(n_columns=2)
    best, every = figure.subplots(1, 2)
    _best(best, trials[trials["rank"] <= TOP])
    for aggregator, study in trials.groupby("aggregator"):
        marker, color = MARKERS[str(aggregator)], COLORS[str(aggregator)]
        label = f"{METHODS[str(aggregator)]}, n = {len(study)}"
        every.plot(study["rank"], study.lowest, marker, color=color, ms=4, label=label)
    constant = float(trials["constant/kl"].median())
    every.axhline(constant, color=GREY, lw=0.8, ls=":")
    every.text(1, 0.97 * constant, "student that ignores the frame", fontsize=8, color=GREY, va="top")
    every.set_yscale("log")
    every.set_yticks(TICKS, [f"{tick:.2f}" for tick in TICKS])
    every.minorticks_off()
    every.set(xlabel="rank in its study", title="all completed trials")
    every.legend(fontsize=8.5)
    for axes in (best, every):
        axes.title.set_fontsize(10)
    stamp(
        figure,
        "every point is a trial (lowest of its evaluations), the line their median, no interval;\n"
        f"{about(results, trials)};\n"
        f"the paper's best, {PAPER_BEST:.5f}, is not comparable: another expert, 1,024 trials at full scale",
    )
    return figure


def _best(axes: Axes, trials: pd.DataFrame) -> None:
    for x, aggregator in enumerate(METHODS):
        lowest = trials[trials.aggregator == aggregator].lowest
        # Side by side in the order of their ranks, so that none hides another.
        across = x + np.linspace(-0.2, 0.2, len(lowest)) if len(lowest) > 1 else [x]
        axes.plot(across, lowest, MARKERS[aggregator], color=COLORS[aggregator], ms=6)
        axes.plot([x - 0.28, x + 0.28], 2 * [lowest.median()], color=COLORS[aggregator], lw=2)
        axes.annotate(
            f"{lowest.median():.4f}", (x + 0.3, lowest.median()), va="center", fontsize=8.5, color=GREY
        )
    axes.set_xticks(range(len(METHODS)), list(METHODS.values()))
    axes.set(xlim=(-0.5, len(METHODS) - 0.4), ylabel="lowest test KL divergence / nats")
    axes.set_title(f"top {TOP} trials of each study")
