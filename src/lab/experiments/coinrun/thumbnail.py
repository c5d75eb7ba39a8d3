"""Test KL on CoinRun of the ten best configurations with and without the temporal mask, five new seeds."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.coinrun.trials import COLORS, MARKERS, METHODS, read_finalists_ends
from lab.figures.thumbnails import new_thumbnail


def draw(results: Path) -> Figure:
    """Draw one point for each configuration and seed."""
    last = read_finalists_ends(results)
    figure, axes = new_thumbnail("test KL by configuration / nats")
    for x, method in enumerate(METHODS):
        own = last[last.method == method]
        axes.plot(x + 0.06 * (own["rank"] - 5.5), own["test/kl"], MARKERS[method], color=COLORS[method], ms=3)
    axes.set_xticks(range(len(METHODS)), ["Adam", "temporal mask"])
    axes.set_xlim(-0.5, 1.5)
    return figure
