"""In 40 epochs plain training fits 100 % of 9,600 random Fashion-MNIST labels, the mask 33 % (medians)."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import draw_seeds, mark_chance
from lab.experiments.memorisation.results import NOISE, THRESHOLD, curves_of
from lab.figures.style import COLORS, as_percent
from lab.figures.thumbnails import label, new_thumbnail

SHOWN = {0.0: (COLORS["mean"], "-"), 0.2: (COLORS["and_mask"], "--")}


def draw(results: Path) -> Figure:
    """Draw plain training and the mask at 0.2: a thin line for each seed, a thick line for their median."""
    curves = curves_of(results, "default")
    figure, axes = new_thumbnail("random labels fitted by epoch")
    if curves.empty:
        label(axes, 1, 0.5, "pending", COLORS["mean"])
        return figure
    random = curves[curves[NOISE] == 1.0]
    for threshold, (color, style) in SHOWN.items():
        draw_seeds(axes, random[random[THRESHOLD] == threshold], "train/accuracy", color, style)
    end = random.epoch.max()
    label(axes, end, 0.86, "plain", SHOWN[0.0][0])
    label(axes, end, 0.52, "mask at 0.2", SHOWN[0.2][0])
    mark_chance(axes)
    as_percent(axes)
    return figure
