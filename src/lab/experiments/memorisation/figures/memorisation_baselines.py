"""Accuracy by epoch of plain training, of the AND-mask and of other methods against memorisation."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.results import (
    NOISE,
    THRESHOLD,
    about,
    curves_of,
    draw_seeds,
    mark_chance,
    pending,
    runs_of,
    seeds_per,
)
from lab.figures.pending import pending_figure
from lab.figures.style import COLORS, LABELS, as_percent, new_figure, stamp

NAME, BESIDE = "baselines", "default"
STYLES = {"mean": "--", "and_mask": "-", "micro_batch_median": "-.", "gradient_agreement": ":"}
PANELS = (
    (1.0, "train/accuracy", "random labels, training set"),
    (0.0, "test/accuracy", "true labels, test set"),
    (0.25, "train/accuracy_mislabeled", "25 % redrawn: mislabelled examples,\nagainst their wrong labels"),
    (0.25, "test/accuracy", "25 % redrawn: test set"),
)


def draw(results: Path) -> Figure:
    """Draw a panel per kind of label and measure, and a line per method with its default settings."""
    runs = pd.concat([runs_of(results, name) for name in (BESIDE, NAME)])
    if runs.empty:
        return pending_figure(pending(results, NAME))
    curves = pd.concat([_named(curves_of(results, name)) for name in (BESIDE, NAME)])
    figure = new_figure(n_columns=4, width=3.0)
    panels = figure.subplots(1, 4, sharey=True)
    for axes, (noise, key, title) in zip(panels, PANELS, strict=True):
        for name, style in STYLES.items():
            chosen = curves[(curves[NOISE] == noise) & (curves.aggregator == name)]
            if len(chosen):
                draw_seeds(axes, chosen, key, COLORS[name], style, LABELS[name])
        mark_chance(axes)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    handles, labels = max(
        (axes.get_legend_handles_labels() for axes in panels), key=lambda both: len(both[1])
    )
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    n = seeds_per(_named(runs), [NOISE, "aggregator"])
    text = f"thick: median, thin: each seed, {n}; each method with the settings of its default command"
    stamp(figure, about(runs, text, pending(results, NAME)))
    return figure


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with plain training's name on the rows of a mask at threshold 0."""
    if THRESHOLD not in table:
        return table
    return table.assign(aggregator=table.aggregator.mask(table[THRESHOLD] == 0, "mean"))
