"""Test accuracy by step on Colored MNIST with 5,000 images: three methods, 20 seeds, the ideal of 75 %."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.irm.results import ROW_COLORS, colored_runs
from lab.figures.style import GREY, as_percent
from lab.figures.thumbnails import label, new_thumbnail

STYLES = {"irm_penalty": "-", "mean": "-", "and_mask": "--"}


def draw(results: Path) -> Figure:
    """Draw the test accuracy by step: the range of the seeds, and a line for their median."""
    curves = colored_runs(results, "curves")
    figure, axes = new_thumbnail("test accuracy by step")
    if curves.empty:
        label(axes, 1, 0.5, "pending", ROW_COLORS["irm_penalty"])
        return figure
    for row, style in STYLES.items():
        seeds = curves[curves.row == row].pivot(index="step", columns="seed", values="test/accuracy")
        low, high = seeds.min(axis=1), seeds.max(axis=1)
        axes.fill_between(seeds.index, low, high, color=ROW_COLORS[row], alpha=0.2, lw=0)
        axes.plot(seeds.index, seeds.median(axis=1), style, color=ROW_COLORS[row], lw=2)
    end = curves.step.max()
    axes.axhline(0.75, color=GREY, lw=0.8, ls=":")
    label(axes, end, 0.82, "ideal", GREY)
    label(axes, end, 0.63, "IRM", ROW_COLORS["irm_penalty"])
    label(axes, 0, 0.2, "plain", ROW_COLORS["mean"], "left")
    label(axes, end, 0.03, "AND-mask", ROW_COLORS["and_mask"])
    as_percent(axes)
    return figure
