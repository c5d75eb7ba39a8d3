"""Accuracy by epoch of plain training, of the AND-mask and of other methods against memorisation."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
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
from lab.figures.style import COLORS, LABELS, stamp

NAME, BESIDE = "baselines", "default"
STYLES = {"mean": "--", "and_mask": "-", "micro_batch_median": "-.", "gradient_agreement": ":"}
PANELS = (
    Panel(1.0, "train/accuracy", "random labels, training set"),
    Panel(0.0, "test/accuracy", "true labels, test set"),
    Panel(
        0.25, "train/accuracy_mislabeled", "25 % redrawn: mislabelled examples,\nagainst their wrong labels"
    ),
    Panel(0.25, "test/accuracy", "25 % redrawn: test set"),
)


def draw(results: Path) -> Figure:
    """Draw a panel per kind of label and measure, and a line per method with its default settings."""
    runs = pd.concat([runs_of(results, name) for name in (BESIDE, NAME)])
    if runs.empty:
        return pending_figure(pending(results, NAME))
    curves = pd.concat([_named(curves_of(results, name)) for name in (BESIDE, NAME)])
    lines = [
        Line(LABELS[name], COLORS[name], style, curves[curves.aggregator == name])
        for name, style in STYLES.items()
    ]
    figure = draw_panels(PANELS, lines, width=3.0)
    n = seeds_per(_named(runs), [NOISE, "aggregator"])
    text = f"thick: median, thin: each seed, {n}; each method with the settings of its default command"
    stamp(figure, about(runs, text, pending(results, NAME), "local votes for the mask"))
    return figure


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with plain training's name on the rows of a mask at threshold 0."""
    if THRESHOLD not in table:
        return table
    return table.assign(aggregator=table.aggregator.mask(table[THRESHOLD] == 0, "mean"))
