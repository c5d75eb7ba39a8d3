"""Figure 8 by epoch, which shows whether the mask prevents memorisation or only delays it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import Line, Panel, draw_panels
from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    curves_of,
    pending,
    runs_of,
    seeds_per,
)
from lab.figures.pending import pending_figure
from lab.figures.style import stamp

PANELS = (
    Panel(1.0, "train/accuracy", "random labels, training set"),
    Panel(0.0, "train/accuracy", "true labels, training set"),
    Panel(0.0, "test/accuracy", "true labels, test set"),
)
STYLES = ("-", "--", "-.", ":")


def draw(results: Path, study: str = "random_labels") -> Figure:
    """Draw a panel per kind of label and set, with a line per threshold.

    Vertical dotted lines show where the learning rate falls, a horizontal one shows chance.
    """
    runs = runs_of(results, study)
    if runs.empty:
        return pending_figure(pending(results, study))
    by_threshold = curves_of(results, study).groupby(THRESHOLD)
    colors = mpl.colormaps["viridis"].resampled(len(by_threshold) + 1).colors  # type: ignore[attr-defined]
    lines = [
        Line(f"{threshold:g}", colors[i], STYLES[i % len(STYLES)], curves)
        for i, (threshold, curves) in enumerate(by_threshold)
    ]
    figure = draw_panels(
        PANELS, lines, width=3.3, rate_falls=True, legend_title="agreement threshold", legend_columns=7
    )
    n = seeds_per(runs, [THRESHOLD, NOISE])
    text = f"thick: median, thin: each seed, {n}; dotted: falls of the learning rate, and chance"
    stamp(figure, about(runs, text, pending(results, study)))
    return figure
