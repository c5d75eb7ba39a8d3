"""Test KL by step, noisy labels, the authors' logits and split: a learned teacher keeps it low."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.distillation.drawing import draw_curves
from lab.experiments.distillation.results import COLORS, curves
from lab.figures.thumbnails import label, new_thumbnail

ROWS = ("no_teacher", "entropy 1", "redrawn")


def draw(results: Path) -> Figure:
    """Draw task B with the authors' logits: no teacher, the best entropy bonus, and distilled."""
    table = curves(results, "labels")
    table = table[table["dataset.logits_factor"] == 3.0]
    figure, axes = new_thumbnail("test KL by step / nats")
    draw_curves(axes, table, "test/kl", ROWS)
    axes.set_xlabel("")
    axes.set_yscale("log")
    end = table.step.max()
    label(axes, end, 0.75, "no teacher", COLORS["no_teacher"])
    label(axes, end, 0.19, "best entropy bonus", COLORS["entropy 1"])
    label(axes, end, 0.065, "learned teacher", COLORS["redrawn"])
    return figure
