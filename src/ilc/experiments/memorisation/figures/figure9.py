"""Figure 9: training with 25 % of the labels redrawn, over the epochs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import (
    BEST_RATES,
    FOLDER,
    SAME_RATE,
    about,
    draw_seeds,
    label_noise_curves,
    seeds_per,
)
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, new_figure, stamp

STYLES = (("mean", BEST_RATES, "--"), ("mean", SAME_RATE, ":"), ("and_mask", BEST_RATES, "-"))
PANELS = (
    ("train/accuracy_mislabeled", "mislabelled training examples,\nagainst their wrong labels"),
    ("test/accuracy", "test set"),
)


def draw(results: Path) -> Figure:
    """Left: the mislabelled training examples against their wrong labels. Right: the test set.

    Each method at the rate that the paper found best for it, and plain training at the mask's too.
    """
    runs = pd.read_csv(results / FOLDER / "label_noise_runs.csv")
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    for aggregator, rates, style in STYLES:
        curves = label_noise_curves(results, rates)
        chosen = curves[curves.aggregator == aggregator]
        if len(chosen):
            label = f"{LABELS[aggregator]}, rate {rates[aggregator]:g}"
            for axes, (key, _) in zip(panels, PANELS, strict=True):
                draw_seeds(axes, chosen, key, COLORS[aggregator], style, label)
    for axes, (_, title) in zip(panels, PANELS, strict=True):
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
        axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    panels[0].set_ylabel("accuracy")
    panels[1].legend(loc="lower right", fontsize=8)
    panels[0].text(curves.epoch.max(), 0.11, "chance", ha="right", fontsize=8, color=GREY)
    n = seeds_per(curves, ["aggregator"])
    threshold = runs["aggregator.agreement_threshold"].max()
    stamp(figure, about(runs, f"thick: median, thin: each seed, {n}; threshold {threshold:g}"))
    return figure
