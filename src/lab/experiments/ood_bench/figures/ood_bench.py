"""Colored MNIST as OoD-Bench runs it: the test accuracy of every method by both rules of selection."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.drawn_trials import METHODS, RULES, selected
from lab.experiments.ood_bench.comparison import compared, mean_and_error
from lab.experiments.ood_bench.results import FOLDER, STUDY, THEIRS, curves, runs
from lab.figures.pending import pending_figure, progress_in_words
from lab.figures.style import COLORS, GREY, data_sources, new_figure, stamp

BY_COLOUR, CONSTANT, BY_DIGIT = 0.1, 0.5, 0.75
"""Test accuracies of a prediction by the colour only, of one class for all images, and by the digit only."""
LABELS = {
    "training_domain": "training-domain validation",
    "test_domain": "test-domain validation (oracle)",
}
IN_TRAINING = "the oracle's choices on the training domains"


def draw(results: Path) -> Figure:
    """Draw a panel per rule: a mark per trial, a diamond for the published mean."""
    words = progress_in_words(results / FOLDER / f"{STUDY}_runs.csv")
    done = runs(results)
    trials = selected(done, curves(results))
    if trials.empty:
        return pending_figure(words)
    table = compared(results)
    figure = new_figure(n_columns=2, width=3.6, height=4.6)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, rule in zip(panels, RULES, strict=True):
        for place, key in enumerate(METHODS):
            own = trials[(trials.row == key) & (trials.rule == rule)].accuracy
            axes.plot(own, [place] * len(own), "o", color=COLORS[key], alpha=0.8)
        theirs = table[table.rule == rule].published / 100
        axes.plot(theirs, range(len(METHODS)), "D", mfc="white", color=GREY, label="published")
        for known in (BY_COLOUR, CONSTANT, BY_DIGIT):
            axes.axvline(known, color=GREY, lw=0.8, ls=":")
        axes.set_title(LABELS[rule], fontsize=10)
        axes.set_xlabel("test accuracy")
        axes.set_xlim(0, 0.85)
    panels[0].set_yticks(range(len(METHODS)), list(METHODS.values()))
    panels[0].set_ylim(len(METHODS) - 0.5, -0.5)
    about = "a mark per trial, the best of 20 draws; dotted: by colour, one class for all, by digit"
    stamp(figure, f"{about};\ndata: {'; '.join(filter(None, [data_sources(done), words]))}")
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a line per row: mean and standard error over trials by both rules, and the published numbers.

    One column has the accuracy of the oracle's choices on held-out data of the training environments.
    """
    table = compared(results)
    lines = []
    for key, method in METHODS.items():
        line = {"method": method, "in OoD-Bench": THEIRS.get(key, "")}
        for _, own in table[table.row == key].iterrows():
            label = LABELS[own.rule]
            line[label] = mean_and_error(own.accuracy, own.error) if own.trials else "pending"
            if own.rule == "test_domain":
                of_same = mean_and_error(own.in_training, own.in_training_error)
                line[IN_TRAINING] = of_same if own.trials else "pending"
            if not math.isnan(own.published):
                line[f"{label}, published"] = mean_and_error(own.published, own.published_error)
                line[f"{label}, apart"] = f"{own.apart:.1f}: {own.verdict}"
        lines.append({**line, "trials": str(table[table.row == key].trials.max())})
    words = progress_in_words(results / FOLDER / f"{STUDY}_runs.csv")
    return pd.DataFrame(lines + ([{"method": words}] if words else [])).fillna("")
