"""Figure 18: learning curves of the best configurations on CoinRun, with intervals of their mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import bootstrap

from lab.experiments.coinrun.finalists import read_finalists
from lab.experiments.coinrun.trials import COLORS, CUT, METHODS, STEPS_PER_EPOCH, TOP, UNMASKED, about
from lab.figures.style import new_figure, stamp

STYLES = {"adam": "--", "temporal_mask": "-", UNMASKED: ":"}
NAMES = {**METHODS, UNMASKED: "mask's settings, no mask"}
PANELS = (("train/kl", "training levels"), ("test/kl", "other levels (test)"))
TICKS = (0.1, 0.15, 0.2, 0.3)


def draw(results: Path) -> Figure:
    """Draw the training divergence on the left and the test divergence on the right.

    Thick lines are the mean over the ten configurations, shaded with its interval. Thin lines are the
    configurations.
    """
    rows = read_finalists(results)
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (key, title) in zip(panels, PANELS, strict=True):
        for method, name in NAMES.items():
            own = rows[rows.method == method].pivot_table(index="epoch", columns="rank", values=key)
            color, style = COLORS[method], STYLES[method]
            low, high = interval_of_the_mean(own)
            axes.plot(own.index, own, style, color=color, lw=0.4, alpha=0.5)
            axes.fill_between(own.index, low, high, color=color, alpha=0.3, lw=0)
            axes.plot(
                own.index, own.mean(axis=1), style, color=color, lw=2, label=f"{name}, n = {own.shape[1]}"
            )
        axes.set_yscale("log")
        axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.yaxis.minorticks_off()
        axes.set_xticks(sorted(rows.epoch.unique()))
        axes.set(xlabel=f"epoch ({STEPS_PER_EPOCH} steps)")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("KL(expert || student) / nats")
    panels[1].legend(fontsize=8.5)
    stamp(
        figure,
        f"the top {TOP} configurations of each search by validation levels, {rows.seed.nunique()} new seeds, "
        f"{rows.steps.max():,} steps; thin: each configuration, as the mean of its seeds;\n"
        "thick: mean of the configurations, shaded: its 95 % bootstrap interval over configurations;\n"
        f"test: {CUT}; training: 1,000 of the 64,000 states; gray: the mask's configurations without it; one "
        "draw of levels and states for all seeds\n"
        f"{about(rows)}",
    )
    return figure


def interval_of_the_mean(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the 95 % percentile bootstrap interval of the mean, as its low and high ends ``[2, epochs]``.

    The columns are resampled.
    """
    found = bootstrap((rows.to_numpy(),), np.mean, axis=1, method="percentile", rng=np.random.default_rng(0))
    return np.stack([found.confidence_interval.low, found.confidence_interval.high])
