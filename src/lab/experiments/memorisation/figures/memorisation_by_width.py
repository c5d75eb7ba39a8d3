"""Random and true labels of all images with networks of several widths, with and without the mask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.figures.figure8_epochs import PANELS
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
)
from lab.figures.pending import pending_figure
from lab.figures.style import as_percent, new_figure, stamp

WIDE = "random_labels_wide"
WIDTH = "model.width"
COLORS = {8: "#0072B2", 16: "#009E73", 32: "#CC79A7", 64: "#D55E00"}
LINES = ((0.2, "-", "mask at 0.2"), (0.0, ":", "plain"))


def draw(results: Path) -> Figure:
    """Draw a panel per kind of label and set, with a colour per width; full lines have the mask."""
    runs = _both(results, runs_of)
    if runs.empty:
        return pending_figure(pending(results, WIDE))
    curves = _both(results, curves_of)
    figure = new_figure(n_columns=3, width=3.3, height=3.2)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (noise, key, title) in zip(panels, PANELS, strict=True):
        for width, color in COLORS.items():
            for threshold, style, name in LINES:
                own = curves[(curves[NOISE] == noise) & (curves[THRESHOLD] == threshold)]
                chosen = own[own[WIDTH] == width]
                if len(chosen):
                    draw_seeds(axes, chosen, key, color, style, f"width {width}, {name}")
        mark_rate_falls(axes, int(runs.epoch.max()))
        mark_chance(axes)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    text = "n = 1 seed (the first); vertical dotted lines: falls of the learning rate; horizontal: chance"
    stamp(figure, about(runs, text, pending(results, WIDE)))
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per width with the accuracies at the last epoch, in per cent."""
    runs = _both(results, runs_of)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, WIDE)}])
    rows = []
    for width, own in runs.groupby(WIDTH):
        row = {"width": width, "parameters": own.parameters.iloc[0]}
        for noise, key, title in PANELS:
            for threshold, _, name in LINES:
                some = own[(own[NOISE] == noise) & (own[THRESHOLD] == threshold)]
                row[f"{title}: {name}"] = ", ".join(f"{100 * value:.1f}" for value in some[key])
        rows.append(row)
    return pd.DataFrame(rows)


def _both(results: Path, read: Callable[[Path, str], pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of the first seed, from the study of width 8 and from that of wider networks."""
    wide = read(results, WIDE)
    if wide.empty:
        return wide
    both = pd.concat([read(results, "random_labels"), wide])
    chosen: pd.DataFrame = both[(both.seed == 0) & both[THRESHOLD].isin([0.0, 0.2])]
    return chosen
