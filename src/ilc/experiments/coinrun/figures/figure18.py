"""Figure 18: learning curves of the best trials on CoinRun, with bootstrap intervals of their mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import bootstrap

from ilc.experiments.coinrun.trials import METHODS, TICKS, TOP, about, read_curves, read_trials
from ilc.figures.style import COLORS, new_figure, stamp

STYLES = {"mean": "--", "temporal_mask": "-"}
PANELS = (("train/kl", "training levels"), ("test/kl", "other levels (test)"))


def draw(results: Path) -> Figure:
    """Left training, right test: mean over the top-10 trials, the interval shaded, each trial thin."""
    trials = read_trials(results)
    top = trials.loc[trials["rank"] <= TOP, ["aggregator", "optimizer.lr", "rank"]]
    curves = read_curves(results).merge(top, on=["aggregator", "optimizer.lr"], validate="many_to_one")
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (key, title) in zip(panels, PANELS, strict=True):
        for aggregator, name in METHODS.items():
            rows = curves[curves.aggregator == aggregator].pivot(index="epoch", columns="rank", values=key)
            color, style = COLORS[aggregator], STYLES[aggregator]
            low, high = interval_of_the_mean(rows)
            axes.plot(rows.index, rows, style, color=color, lw=0.4, alpha=0.5)
            axes.fill_between(rows.index, low, high, color=color, alpha=0.3, lw=0)
            label = f"{name}, n = {rows.shape[1]}"
            axes.plot(rows.index, rows.mean(axis=1), style, color=color, lw=2, label=label)
        axes.set_yscale("log")
        axes.set_yticks(TICKS, [f"{tick:.2f}" for tick in TICKS])
        axes.minorticks_off()
        axes.set_xticks(sorted(curves.epoch.unique()))
        axes.set(xlabel="epoch")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("KL(expert || student) / nats")
    panels[1].legend(fontsize=8.5)
    stamp(
        figure,
        f"thick: mean of the top {TOP} trials of each study, shaded: its 95 % bootstrap interval, "
        f"thin: each trial;\n{about(results, trials)}",
    )
    return figure


def interval_of_the_mean(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Low and high ends ``[2, epochs]`` of the 95 % percentile bootstrap interval, resampling columns."""
    found = bootstrap((rows.to_numpy(),), np.mean, axis=1, method="percentile", rng=np.random.default_rng(0))
    return np.stack([found.confidence_interval.low, found.confidence_interval.high])
