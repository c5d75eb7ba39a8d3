"""Test KL on CoinRun by seed, one draw of levels: Adam, the mask, and the mask's settings without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lab.experiments.coinrun.finalists import read_finalists_means
from lab.experiments.coinrun.trials import COLORS, MARKERS, UNMASKED
from lab.figures.thumbnails import new_thumbnail

GROUPS = {"adam": "Adam", "temporal_mask": "mask", UNMASKED: "its settings,\nno mask"}


def draw(results: Path) -> Figure:
    """Draw a point per seed, the mean of ten configurations at the longest budget, and the means."""
    means = read_finalists_means(results)
    last = means[means.steps == means.steps.max()]
    figure, axes = new_thumbnail("test KL by seed / nats")
    for x, method in enumerate(GROUPS):
        own = last[last.method == method]["test/kl"]
        across = x + np.linspace(-0.2, 0.2, len(own))
        axes.plot(across, own, MARKERS[method], color=COLORS[method], ms=4)
        axes.plot([x - 0.3, x + 0.3], 2 * [own.mean()], color=COLORS[method], lw=1.5)
    axes.set_xticks(range(len(GROUPS)), list(GROUPS.values()), fontsize=8)
    axes.set_xlim(-0.5, len(GROUPS) - 0.5)
    return figure
