"""Drawings of trajectories: the first frame above all frames merged (thesis, figures 2.5 and 2.6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lab.experiments.skip_intervals.results import FOLDER
from lab.figures.style import new_figure, stamp

STRENGTH = 6.0
"""The factor by which moving things are emphasised when frames are merged."""


def merged(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all frames ``[T, 3, height, width]`` of a trajectory as one, with moving things emphasised."""
    still: NDArray[np.float64] = np.median(frames, axis=0)
    shown: NDArray[np.float64] = (still + STRENGTH * (frames.mean(0) - still)).clip(0, 1)
    return shown


def draw_examples(results: Path, name: str, labels: Sequence[str]) -> Figure:
    """Draw the kept validation trajectories of a domain.

    Args:
        results: the folder of committed files.
        name: name of the domain.
        labels: text of each label.
    """
    with np.load(results / FOLDER / f"{name}.npz") as kept:
        frames, lengths, ends = kept["frames"], kept["lengths"], kept["labels"]
    about = pd.read_csv(results / FOLDER / "data.csv").set_index("dataset").loc[name]
    n = len(frames)
    figure = new_figure(n_columns=n, n_rows=2, width=1.5, height=1.6)
    panels = figure.subplots(2, n)
    for column, (whole, length, end) in enumerate(zip(frames, lengths, ends, strict=True)):
        real = whole[:length].astype(float)
        for axes, picture in zip(panels[:, column], (real[0], merged(real)), strict=True):
            axes.imshow(picture.transpose(1, 2, 0), interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(False)
        panels[0, column].set_title(f"{labels[end]}, {length} frames", fontsize=8)
    panels[0, 0].set_ylabel("first frame", fontsize=8)
    panels[1, 0].set_ylabel("merged", fontsize=8)
    source = str(about.data_source).replace(" (", "\n(", 1)
    stamp(figure, f"validation trajectories 0 to {n - 1}; {source}")
    return figure
