"""Figure 17: six levels of CoinRun as the expert and its students see them, in the easy and hard mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lab.figures.style import new_figure, room_for_titles, stamp

ROWS = {"easy": "easy", "hard": "hard (used here)"}


def draw(results: Path) -> Figure:
    """Draw a row per mode and a column per level, from ``coinrun/levels.npz``."""
    with np.load(results / "coinrun" / "levels.npz", allow_pickle=False) as stored:
        levels, frames = stored["levels"], {mode: stored[mode] for mode in ROWS}
    figure = new_figure(n_columns=len(levels), n_rows=len(ROWS), width=1.6, height=1.7)
    room_for_titles(figure)
    for panels, (mode, label) in zip(figure.subplots(len(ROWS), len(levels)), ROWS.items(), strict=True):
        for axes, frame, level in zip(panels, frames[mode], levels, strict=True):
            axes.imshow(frame.transpose(1, 2, 0), interpolation="nearest")
            axes.set_title(f"level {level}", fontsize=9)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        panels[0].set_ylabel(label)
    stamp(
        figure,
        "what the networks see of six training levels (64 x 64 pixels), 20 steps into the expert's play;\n"
        "easy levels differ in their layout only, hard ones also in background, ground, figure and monsters; "
        "data: procgen's CoinRun",
    )
    return figure
