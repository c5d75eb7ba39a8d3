"""Random and true labels of all images with networks of several widths, with and without the mask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import Line, draw_panels
from lab.experiments.memorisation.figures.figure8_epochs import PANELS
from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    curves_of,
    pending,
    runs_of,
)
from lab.figures.pending import pending_figure
from lab.figures.style import stamp

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
    lines = [
        Line(
            f"width {width}, {name}",
            color,
            style,
            curves[(curves[WIDTH] == width) & (curves[THRESHOLD] == threshold)],
        )
        for width, color in COLORS.items()
        for threshold, style, name in LINES
    ]
    figure = draw_panels(PANELS, lines, width=3.3, rate_falls=True)
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
        rows.append({"width": width, "parameters": own.parameters.iloc[0], **with_and_without_mask(own)})
    return pd.DataFrame(rows)


def with_and_without_mask(runs: pd.DataFrame) -> dict[str, str]:
    """Return the accuracies of all seeds in per cent, by kind of label, set and method."""
    cells = {}
    for noise, key, title in PANELS:
        for threshold, _, name in LINES:
            some = runs[(runs[NOISE] == noise) & (runs[THRESHOLD] == threshold)]
            cells[f"{title}: {name}"] = ", ".join(f"{100 * value:.1f}" for value in some[key])
    return cells


def _both(results: Path, read: Callable[[Path, str], pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of the first seed, from the study of width 8 and from that of wider networks."""
    wide = read(results, WIDE)
    if wide.empty:
        return wide
    both = pd.concat([read(results, "random_labels"), wide])
    chosen: pd.DataFrame = both[(both.seed == 0) & both[THRESHOLD].isin([0.0, 0.2])]
    return chosen
