"""Thesis, figure 4.4: test KL of task B during training, with a teacher and with entropy bonuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.distillation.drawing import draw_curves, spread
from lab.experiments.distillation.results import COLORS, FIGURE_4_4, LABELS, curves, runs
from lab.figures.style import data_sources, new_figure, stamp

ROWS = ("no_teacher", "entropy 0.1", "entropy 1", "entropy 10", "random", "fixed", "redrawn")
TITLES = {3.0: "logits x 3 (authors' code)", 1.0: "logits x 1 (thesis)"}


def draw(results: Path) -> Figure:
    """Draw a panel for each factor of the logits; stars are the last values of the authors' drawing."""
    table = curves(results, "labels")
    figure = new_figure(n_columns=2, height=3.6)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (factor, title) in zip(panels, TITLES.items(), strict=True):
        draw_curves(axes, table[table["dataset.logits_factor"] == factor], "test/kl", ROWS)
        axes.set_yscale("log")
        axes.set_title(title, fontsize=10)
    for row, value in FIGURE_4_4.items():
        color = COLORS["redrawn" if row == "distill" else row]
        panels[0].plot(table.step.max(), value, "*", color=color, mec="black", mew=0.5, ms=9, clip_on=False)
    panels[0].plot([], [], "*", color="white", mec="black", mew=0.5, ms=9, label="authors' drawing, epoch 16")
    panels[0].set_ylabel("test KL(true || student), nats")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8)
    n = table.groupby("row").seed.nunique().min()
    stamp(
        figure,
        f"thick: median of n = {n} seeds, thin: each seed; 1,000 examples, batches of 32; "
        f"data: {data_sources(runs(results, 'labels'))}",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per way to train: last test KL with both factors, lowest test KL, published value."""
    table = runs(results, "labels")
    rows = []
    for row in (row for row in ROWS if row in set(table.row)):
        values: dict[str, str] = {"method": LABELS[row]}
        for factor in TITLES:
            chosen = table[(table.row == row) & (table["dataset.logits_factor"] == factor)]
            for kind, key in (("last", "test/kl"), ("lowest", "best/test/kl")):
                made = spread(chosen[key], 3) if len(chosen) else ""
                values[f"logits x {factor:g}, {kind}"] = made
        published = FIGURE_4_4.get("distill" if row == "redrawn" else row)
        values["authors' drawing, x 3, last"] = "" if published is None else f"{published:.2f}"
        values["n"] = str(table[table.row == row].seed.nunique())
        rows.append(values)
    return pd.DataFrame(rows)
