"""Figure 9: training by epoch on CIFAR-10 (JPEG copy) after 25 % of the labels were redrawn."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.results import (
    BEST_RATES,
    SAME_RATE,
    THRESHOLD,
    about,
    at_best_rates,
    at_rates,
    curves_of,
    draw_seeds,
    mark_chance,
    pending,
    runs_of,
    seeds_per,
)
from lab.figures.pending import pending_figure
from lab.figures.style import COLORS, GREY, LABELS, as_percent, new_figure, stamp

NAME = "label_noise"
STYLES = (("mean", BEST_RATES, "--"), ("mean", SAME_RATE, ":"), ("and_mask", BEST_RATES, "-"))
PANELS = (
    ("train/accuracy_mislabeled", "mislabelled training examples,\nagainst their wrong labels"),
    ("train/accuracy_labeled", "correctly labelled\ntraining examples"),
    ("test/accuracy", "test set"),
)


def draw(results: Path) -> Figure:
    """Draw the accuracy on three sets of examples over the epochs.

    The left panel shows the mislabelled training examples against their wrong labels, the middle panel the
    other training examples, and the right panel the test set. Each method has the learning rate that the
    paper found best for it. Plain training is also drawn with the learning rate of the mask.
    """
    runs = runs_of(results, NAME)
    if runs.empty:
        return pending_figure(pending(results, NAME))
    all_curves = curves_of(results, NAME)
    figure = new_figure(n_columns=3, width=3.4)
    panels = figure.subplots(1, 3, sharey=True)
    for aggregator, rates, style in STYLES:
        curves = at_rates(all_curves, rates)
        chosen = curves[curves.aggregator == aggregator]
        if len(chosen):
            label = f"{LABELS[aggregator]}, rate {rates[aggregator]:g}"
            for axes, (key, _) in zip(panels, PANELS, strict=True):
                draw_seeds(axes, chosen, key, COLORS[aggregator], style, label)
    for axes, (_, title) in zip(panels, PANELS, strict=True):
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
        mark_chance(axes)
    panels[0].set_ylabel("accuracy")
    panels[-1].legend(loc="lower right", fontsize=9)
    panels[0].text(all_curves.epoch.max(), 0.11, "chance", ha="right", fontsize=9, color=GREY)
    n = seeds_per(at_best_rates(runs), ["aggregator"])
    text = f"thick: median, thin: each seed, {n}; threshold {runs[THRESHOLD].max():g}"
    stamp(figure, about(runs, text, pending(results, NAME)))
    return figure
