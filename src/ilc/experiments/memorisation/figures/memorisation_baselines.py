"""Other methods against memorisation beside plain training and the AND-mask, over the epochs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import (
    FOLDER,
    NOISE,
    THRESHOLD,
    about,
    draw_seeds,
    label_noise_curves,
    seeds_per,
    threshold_curves,
    threshold_runs,
)
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, new_figure, stamp

STYLES = {"mean": "--", "and_mask": "-", "micro_batch_median": "-.", "gradient_agreement": ":"}
PANELS = (
    (1.0, "train/accuracy", "random labels, training set"),
    (0.0, "test/accuracy", "true labels, test set"),
    (0.25, "train/accuracy_mislabeled", "25 % redrawn: mislabelled examples,\nagainst their wrong labels"),
    (0.25, "test/accuracy", "25 % redrawn: test set"),
)
MASK = 0.2
RATE = 1e-3
"""Of all methods with 25 % of the labels redrawn: that of plain training, at which the others were run."""


def draw(results: Path) -> Figure:
    """A panel per kind of label and measure, a line per method."""
    curves = pd.concat(
        [
            _of_the_grid(threshold_curves(results)),
            label_noise_curves(results, dict.fromkeys(STYLES, RATE)).assign(**{NOISE: 0.25}),
            pd.read_csv(results / FOLDER / "baselines_curves.csv"),
        ]
    )
    runs = threshold_runs(results)
    figure = new_figure(n_columns=4, width=3.0)
    panels = figure.subplots(1, 4, sharey=True)
    for axes, (noise, key, title) in zip(panels, PANELS, strict=True):
        for name, style in STYLES.items():
            chosen = curves[(curves[NOISE] == noise) & (curves.aggregator == name)]
            draw_seeds(axes, chosen, key, COLORS[name], style, LABELS[name])
        axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
    panels[0].set_ylabel("accuracy")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)
    n = seeds_per(curves, [NOISE, "aggregator"])
    stamp(
        figure,
        about(
            runs,
            f"thick: median, thin: each seed, {n}; AND-mask at {MASK:g}; 25 % redrawn: all at rate {RATE:g}",
        ),
    )
    return figure


def _of_the_grid(curves: pd.DataFrame) -> pd.DataFrame:
    """Plain training and the mask at one threshold, under the names of their methods."""
    names = curves[THRESHOLD].map({0.0: "mean", MASK: "and_mask"})
    return curves.assign(aggregator=names)[names.notna()]
