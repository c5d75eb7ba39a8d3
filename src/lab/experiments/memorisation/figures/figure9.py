"""Figure 9: training by epoch on CIFAR-10 (JPEG copy) after 25 % of the labels were redrawn."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.drawing import Line, Panel, draw_panels
from lab.experiments.memorisation.results import (
    BEST_RATES,
    SAME_RATE,
    THRESHOLD,
    about,
    at_rates,
    curves_of,
    pending,
    runs_of,
)
from lab.figures.pending import pending_figure
from lab.figures.style import COLORS, LABELS, stamp

NAME = "label_noise"
STYLES = (("mean", BEST_RATES, "--"), ("mean", SAME_RATE, ":"), ("and_mask", BEST_RATES, "-"))
PANELS = (
    Panel(0.25, "train/accuracy_mislabeled", "mislabelled training examples,\nagainst their wrong labels"),
    Panel(0.25, "train/accuracy_labeled", "correctly labelled\ntraining examples"),
    Panel(0.25, "test/accuracy", "test set"),
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
    lines = []
    for aggregator, rates, style in STYLES:
        curves = at_rates(all_curves, rates)
        curves = curves[curves.aggregator == aggregator]
        label = f"{LABELS[aggregator]}, rate {rates[aggregator]:g} (n = {curves.seed.nunique()})"
        lines.append(Line(label, COLORS[aggregator], style, curves))
    figure = draw_panels(PANELS, lines, width=3.4)
    text = f"thick: median, thin: each of n seeds; dotted: chance; threshold {runs[THRESHOLD].max():g}"
    stamp(figure, about(runs, text, pending(results, NAME)))
    return figure
