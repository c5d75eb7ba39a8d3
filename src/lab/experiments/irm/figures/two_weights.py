"""Where a vote by sign changes what a model of two weights follows, for all pairs of colour noises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lab.experiments.irm.color_votes import COLORED_MNIST, FIRST_NOISE, LABEL_NOISE, TWO_WEIGHTS
from lab.figures.style import COLORS, GREY, LABELS, new_figure, stamp

REGIONS = {
    "both follow the colour": "#CCBB88",
    "only the AND-mask follows the digit": COLORS["and_mask"],
    "only plain training follows the digit": COLORS["mean"],
    "both follow the digit": "#DDDDDD",
}


def region(grid: pd.DataFrame) -> pd.Series:
    """Return the number of the region in ``REGIONS`` for each pair of noises (the index)."""
    by_method = grid.set_index(["first_noise", "second_noise"])
    # The label and the other label are mirror images, so the larger weight decides where the two disagree.
    digit = {name: own["shape"].abs() > own.color.abs() + 1e-6 for name, own in by_method.groupby("method")}
    mask, plain = digit["and_mask"], digit["mean"]
    found: pd.Series = (mask & ~plain) * 1 + (plain & ~mask) * 2 + (mask & plain) * 3
    return found


def draw(results: Path) -> Figure:
    """Draw the map of the regions, and both weights along the line that the networks were trained on."""
    grid = pd.read_csv(results / TWO_WEIGHTS)
    figure = new_figure(n_columns=2, width=4.6, height=3.4)
    chart, lines = figure.subplots(1, 2)
    table = region(grid).unstack("first_noise")
    chart.pcolormesh(
        table.columns, table.index, table, cmap=ListedColormap(list(REGIONS.values())), vmin=0, vmax=3
    )
    chart.plot(FIRST_NOISE, COLORED_MNIST, "*", color="black", ms=11)
    chart.text(FIRST_NOISE + 0.01, COLORED_MNIST - 0.14, "Colored\nMNIST", fontsize=8)
    chart.axvline(FIRST_NOISE, color="black", lw=0.8, ls=":")
    chart.set(xlabel="colour noise of the first environment", ylabel="colour noise of the second", aspect=1)
    chart.grid(visible=False)
    chart.set_title("which cue decides", fontsize=10)
    there = set(table.to_numpy().flat)
    handles = [
        Patch(color=color, label=name)
        for number, (name, color) in enumerate(REGIONS.items())
        if number in there
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, fontsize=8)
    nearest = grid.first_noise.iloc[(grid.first_noise - FIRST_NOISE).abs().argmin()]
    for name in ("mean", "and_mask"):
        own = grid[(grid.method == name) & (grid.first_noise == nearest)]
        lines.plot(own.second_noise, own.color, color=COLORS[name], lw=2, label=f"{LABELS[name]}: colour")
        lines.plot(
            own.second_noise, own["shape"], "--", color=COLORS[name], lw=1.5, label=f"{LABELS[name]}: digit"
        )
    best = np.log((1 - LABEL_NOISE) / LABEL_NOISE)
    lines.axhline(best, color=GREY, lw=0.8, ls=":")
    lines.text(0.97, best + 0.04, "best weight on the digit", fontsize=8, color=GREY, ha="right")
    lines.axvline(0.5, color=GREY, lw=0.8)
    lines.set(xlabel=f"colour noise of the second environment (first: {nearest:g})", ylabel="weight")
    lines.set_title("along the dotted line", fontsize=10)
    lines.legend(fontsize=8, loc="upper right")
    stamp(
        figure,
        "a logistic regression on digit and colour, each 1 or -1; exact risks, no sample; gradient descent "
        "from zero",
    )
    return figure
