"""Figure 8 by epoch, which shows whether the mask prevents memorisation or only delays it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    curves_of,
    draw_seeds,
    mark_chance,
    mark_rate_falls,
    pending,
    runs_of,
    seeds_per,
)
from lab.figures.pending import pending_figure
from lab.figures.style import as_percent, new_figure, stamp

PANELS = (
    (1.0, "train/accuracy", "random labels, training set"),
    (0.0, "train/accuracy", "true labels, training set"),
    (0.0, "test/accuracy", "true labels, test set"),
)
STYLES = ("-", "--", "-.", ":")


def draw(results: Path, study: str = "random_labels") -> Figure:
    """Draw a panel per kind of label and set, with a line per threshold.

    Vertical dotted lines show where the learning rate falls, a horizontal one shows chance.
    """
    runs = runs_of(results, study)
    if runs.empty:
        return pending_figure(pending(results, study))
    curves = curves_of(results, study)
    figure = new_figure(n_columns=3, width=3.3, height=3.2)
    panels = figure.subplots(1, 3, sharey=True)
    thresholds = sorted(curves[THRESHOLD].unique())
    colors = mpl.colormaps["viridis"].resampled(len(thresholds) + 1).colors  # type: ignore[attr-defined]
    shown: dict[str, Artist] = {}
    for axes, (noise, key, title) in zip(panels, PANELS, strict=True):
        for i, threshold in enumerate(thresholds):
            chosen = curves[(curves[NOISE] == noise) & (curves[THRESHOLD] == threshold)]
            if len(chosen):
                draw_seeds(axes, chosen, key, colors[i], STYLES[i % len(STYLES)], f"{threshold:g}")
        mark_rate_falls(axes, int(runs.epoch.max()))
        mark_chance(axes)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown[str(label)] = handle
    panels[0].set_ylabel("accuracy")
    names = sorted(shown, key=float)
    figure.legend(
        [shown[name] for name in names],
        names,
        title="agreement threshold",
        loc="outside upper center",
        ncols=7,
        fontsize=9,
    )
    n = seeds_per(runs, [THRESHOLD, NOISE])
    text = f"thick: median, thin: each seed, {n}; dotted: falls of the learning rate, and chance"
    stamp(figure, about(runs, text, pending(results, study)))
    return figure
