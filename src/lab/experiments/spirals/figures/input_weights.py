"""How L1 and L2 change the first layer under the AND-mask: its weights by input, and its neurons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.settings import TWO, Setting
from lab.figures.style import COLORS, GREY, data_sources, new_figure, stamp

PANELS = {
    "mechanism_rms": "weights on the mechanism\n(root mean square)",
    "shortcut_rms": "weights on the shortcuts\n(root mean square)",
    "tuned_to_shortcuts": "strength of neurons tuned to shortcuts\n(over that of the others)",
    "test/accuracy": "test accuracy",
}


def draw(results: Path) -> Figure:
    """Draw the weights with PyTorch's first weights and two revolutions."""
    return draw_weights(pd.read_csv(results / INPUT_WEIGHTS), TWO)


def draw_weights(rows: pd.DataFrame, setting: Setting) -> Figure:
    """Draw a panel per measure, with a dot per seed after training and a line at the mean before.

    Args:
        rows: the table of the setting.
        setting: the setting, for the words below the figure.
    """
    figure = new_figure(n_columns=len(PANELS), width=2.6, height=2.8)
    for axes, (key, title) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        before = rows[rows.when == "before"]
        if key != "test/accuracy":
            axes.axhline(before[key].mean(), color=GREY, lw=1, ls=":", label="before training, mean")
        for place, name in enumerate(REGULARISERS):
            after = rows[(rows.when == "after") & (rows.regulariser == name)]
            places = place + np.linspace(-0.2, 0.2, len(after))
            color = GREY if name == "none" else COLORS["and_mask"]
            axes.plot(
                places, after[key], "o" if name != "l1" else "s", color=color, ms=5, alpha=0.7, mec="none"
            )
            axes.hlines(after[key].median(), place - 0.3, place + 0.3, color=color, lw=2)
        axes.set_xticks(range(len(REGULARISERS)), [own.label for own in REGULARISERS.values()], fontsize=8)
        axes.set_title(title, fontsize=9)
        axes.margins(y=0.1)
        axes.set_ylim(bottom=0)
        axes.set_xlim(-0.5, len(REGULARISERS) - 0.5)
    figure.axes[0].legend(fontsize=8)
    n = rows.groupby("regulariser").seed.nunique().min()
    stamp(
        figure,
        f"n = {n} seeds each, all drawn, line: median; the configuration that the search with L2 found "
        "best, and the smallest L1 of its search;\nAND-mask at 0.8; "
        f"paper's size, with {setting.described} and {setting.epochs} epochs (the paper's: 93); "
        f"data: {data_sources(rows)}",
    )
    return figure
