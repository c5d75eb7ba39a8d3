"""Spirals of two revolutions: plain training stays near chance, the AND-mask with L2 finds the mechanism."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.methods import METHODS, read_methods
from lab.figures.style import COLORS, as_percent
from lab.figures.thumbnails import label, new_thumbnail

SHOWN = {"standard": ("mean", "plain training", 0.62), "and_mask_l2": ("and_mask", "AND-mask + L2", 0.9)}
"""For each search: the aggregator that gives the colour, the words beside the lines, and their height."""
WIDTH = 60
"""The number of epochs on the axis, which leaves room for the words."""


def draw(results: Path) -> Figure:
    """Draw the best configuration of each search on new seeds, with a line per seed."""
    curves = read_methods(results, "curves")
    figure, axes = new_thumbnail("test accuracy by epoch")
    for name, (aggregator, words, height) in SHOWN.items():
        of_method = curves[curves.method == METHODS[name]]
        for _, run in of_method.groupby("seed"):
            axes.plot(run.epoch, run["test/accuracy"], color=COLORS[aggregator], lw=0.7, alpha=0.6)
        seeds = of_method.seed.nunique()
        label(axes, WIDTH, height, f"{words}, n = {seeds}", COLORS[aggregator])
    axes.set_xlim(0, WIDTH)
    as_percent(axes)
    return figure
