"""Skip intervals, room runner: the first frame, and all frames up to the coloured room merged into one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lab.experiments.skip_intervals.examples_drawing import merged
from lab.experiments.skip_intervals.results import FOLDER
from lab.figures.thumbnails import new_thumbnail

SHOWN = 2
"""The number of first trajectories to show."""

GAP = 2
"""The gap between pictures, in pixels."""


def draw(results: Path) -> Figure:
    """Draw one row per trajectory: its first frame, and all frames merged."""
    with np.load(results / FOLDER / "room_runner.npz") as kept:
        ways = [kept["frames"][i, : kept["lengths"][i]].astype(float) for i in range(SHOWN)]
    figure, axes = new_thumbnail("first frame          all frames")
    gap = np.ones((*ways[0].shape[1:3], GAP))
    rows = [np.concatenate([way[0], gap, merged(way)], axis=2) for way in ways]
    axes.imshow(np.concatenate(rows, axis=1).transpose(1, 2, 0), interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    return figure
