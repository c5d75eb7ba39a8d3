"""Random labels of stand-in images, training accuracy: the mask delays memorisation or slows all learning."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import NOISE, THRESHOLD, draw_seeds, threshold_curves
from ilc.figures.style import COLORS, GREY, as_percent
from ilc.figures.thumbnails import label, new_thumbnail

SHOWN = {0.0: (COLORS["mean"], "-"), 0.2: (COLORS["temporal_mask"], "--"), 0.4: (COLORS["and_mask"], "-.")}


def draw(results: Path) -> Figure:
    """Three of the agreement thresholds, thin each seed, thick their median."""
    curves = threshold_curves(results)
    random = curves[curves[NOISE] == 1.0]
    figure, axes = new_thumbnail("random labels fitted by epoch")
    for threshold, (color, style) in SHOWN.items():
        draw_seeds(axes, random[random[THRESHOLD] == threshold], "train/accuracy", color, style, "")
    end = random.epoch.max()
    label(axes, end, 0.87, "threshold 0 (plain)", SHOWN[0.0][0])
    label(axes, end, 0.72, "0.2", SHOWN[0.2][0])
    label(axes, end, 0.38, "0.4", SHOWN[0.4][0])
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    as_percent(axes)
    return figure
