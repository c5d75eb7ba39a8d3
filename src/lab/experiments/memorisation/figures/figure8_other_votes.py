"""Training by epoch with the authors' exact vote, and with the local vote with and without rescaling."""

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
from lab.figures.style import COLORS, GREY, median_and_range, stamp

NAME = "other_votes"
PANELS = (
    Panel(1.0, "train/accuracy", "random labels,\ntraining set"),
    Panel(0.0, "test/accuracy", "true labels,\ntest set"),
    Panel(0.25, "train/accuracy_mislabeled", "a quarter redrawn,\nwrong labels"),
    Panel(0.25, "test/accuracy", "a quarter redrawn,\ntest set"),
)
LINES = (
    ("plain training", GREY, ":"),
    ("exact vote (the authors')", COLORS["and_mask"], "-"),
    ("local vote", COLORS["mean"], "--"),
    ("local vote, not rescaled", COLORS["geometric_mean"], "-."),
)


def draw(results: Path) -> Figure:
    """Draw a panel per kind of label and measure, and a line per kind of vote."""
    runs = runs_of(results, NAME)
    if runs.empty:
        return pending_figure(pending(results, NAME))
    curves = curves_of(results, NAME)
    votes = _vote(curves)
    lines = [Line(name, color, style, curves[votes == name]) for name, color, style in LINES]
    figure = draw_panels(PANELS, lines, width=2.7, height=2.8)
    n = seeds_per(runs, [NOISE])
    text = f"{n}, {runs['dataset.n_environments'].max():,} images; masks at {runs[THRESHOLD].max():g}"
    stamp(figure, about(runs, text, pending(results, NAME), votes="votes as named"))
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per kind of vote with the accuracies at the last epoch in per cent, by label and set."""
    runs = runs_of(results, NAME)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, NAME)}])
    votes = _vote(runs)
    rows = []
    for name, _, _ in LINES:
        row = {"training": name}
        for noise, key, title in PANELS:
            chosen = runs[(votes == name) & (runs[NOISE] == noise)]
            own = chosen.reindex(columns=[key])[key].dropna()  # Early runs have no wrong labels.
            row[title.replace("\n", " ")] = "pending" if own.empty else median_and_range(own)
        rows.append(row)
    return pd.DataFrame(rows)


def _vote(table: pd.DataFrame) -> pd.Series:
    """Return, for each row, the name of the line in ``LINES`` that it belongs to."""
    plain, exact, local, bare = (name for name, _, _ in LINES)
    rescaled = table["aggregator.rescale"].map({True: local, "True": local}).fillna(bare)
    votes = rescaled.where(table.gradients != "per_example_loss", exact)
    return votes.mask((table.aggregator == "mean") | (table[THRESHOLD] == 0), plain)
