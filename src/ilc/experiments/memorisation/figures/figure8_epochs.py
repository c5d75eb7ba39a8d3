"""Figure 8 over the epochs, which tells delayed memorisation from prevented memorisation."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    draw_seeds,
    mark_rate_falls,
    seeds_per,
    threshold_curves,
    threshold_runs,
)
from ilc.figures.style import GREY, as_percent, new_figure, stamp

PANELS = (
    (1.0, "train/accuracy", "random labels, training set"),
    (0.0, "train/accuracy", "true labels, training set"),
    (0.0, "test/accuracy", "true labels, test set"),
)
STYLES = ("-", "--", "-.", ":")


def draw(results: Path, norm: str = "batch") -> Figure:
    """A panel per kind of label and set, a line per threshold; dotted: where the learning rate falls."""
    curves, runs = threshold_curves(results, norm), threshold_runs(results, norm)
    figure = new_figure(n_columns=3, width=3.3, height=3.2)
    panels = figure.subplots(1, 3, sharey=True)
    thresholds = sorted(curves[THRESHOLD].unique())
    colors = mpl.colormaps["viridis"].resampled(len(thresholds) + 1).colors  # type: ignore[attr-defined]
    for axes, (noise, key, title) in zip(panels, PANELS, strict=True):
        for i, threshold in enumerate(thresholds):
            chosen = curves[(curves[NOISE] == noise) & (curves[THRESHOLD] == threshold)]
            draw_seeds(axes, chosen, key, colors[i], STYLES[i % len(STYLES)], f"{threshold:g}")
        mark_rate_falls(axes)
        axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, title="agreement threshold", loc="outside upper center", ncols=7, fontsize=8
    )
    n = seeds_per(runs, [THRESHOLD, NOISE])
    stamp(
        figure, about(runs, f"thick: median, thin: each seed, {n}; dotted: the learning rate falls, chance")
    )
    return figure
