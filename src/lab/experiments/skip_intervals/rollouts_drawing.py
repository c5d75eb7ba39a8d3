"""Drawings of rollouts below the true frames of their matches, and of the skips (thesis, 2.7 and 2.8)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lab.experiments.skip_intervals.results import FOLDER, METHODS
from lab.figures.style import GREY, new_figure, stamp

Numbers = NDArray[np.int64]
FRAME = 0.4
"""The width of a frame in inches."""
EMPTY, BETWEEN = 0.92, 0.7
"""The greys of places without a prediction, and of the lines between frames."""


def draw_rollouts(results: Path, name: str, labels: tuple[str, ...]) -> Figure:
    """Draw the first validation trajectories of a domain, with each prediction below its match.

    Args:
        results: the folder of committed files.
        name: name of the domain.
        labels: text of each label.
    """
    with np.load(results / FOLDER / f"{name}_rollouts.npz") as file:
        kept = dict(file)
    about = pd.read_csv(results / FOLDER / "data.csv").set_index("dataset").loc[name]
    n, columns = kept["frames"].shape[:2]
    height, width = kept["frames"].shape[-2:]
    pair = FRAME * 2.4 * height / width
    figure = new_figure(width=FRAME * columns, n_rows=n + 2, height=pair)
    panels = figure.subplots(n + 1, 1, height_ratios=[1] * n + [2])
    for row, axes in enumerate(panels[:n]):
        calls, length = int(kept["calls"][row]), int(kept["lengths"][row])
        _pair(axes, kept["frames"][row, :length], kept["predicted"][row], kept["times"][row, :calls], columns)
        axes.set_ylabel(labels[int(kept["labels"][row])], fontsize=8)
    _skips(panels[n], skips(kept["times"].astype(int), kept["calls"]))
    label = METHODS[str(kept["method"])]
    source = str(about.data_source).replace(" (", "\n(", 1)
    stamp(
        figure,
        f"truth above, predictions below; validation trajectories 0 to {n - 1}, without selection; {label}, "
        f"seed {kept['seed']}, after {kept['step']} steps; {source}",
    )
    return figure


def skips(times: Numbers, calls: Numbers) -> list[Numbers]:
    """Return the numbers of frames between successive matches, for each trajectory until its last frame.

    Args:
        times: times of the matches, ``[N, D]``.
        calls: number of calls until the last frame is matched, ``[N]``. If it is above D, only the D known
            matches are used.
    """
    steps = np.diff(times, axis=1, prepend=0)
    return [row[:n] for row, n in zip(steps, calls, strict=True)]


def _pair(axes: Axes, frames: Numbers, predicted: Numbers, times: Numbers, columns: int) -> None:
    """Draw one trajectory with a column per true frame.

    The numbers below the axis say how many frames each call went ahead.
    """
    _, channels, height, width = frames.shape
    canvas = np.ones((2 * height + 1, columns * (width + 1) + 1, channels))
    canvas[:, : len(frames) * (width + 1) + 1] = BETWEEN
    for t, frame in enumerate(frames):
        left = t * (width + 1) + 1
        canvas[:height, left : left + width] = frame.transpose(1, 2, 0)
        canvas[height + 1 :, left : left + width] = EMPTY
    for frame, t in zip(predicted, times, strict=False):
        left = int(t) * (width + 1) + 1
        canvas[height + 1 :, left : left + width] = frame.transpose(1, 2, 0) / 255
    axes.imshow(canvas, interpolation="nearest")
    axes.set_yticks([])
    axes.grid(False)
    axes.spines[:].set_visible(False)
    places = [int(t) * (width + 1) + 1 + width / 2 for t in times]
    ahead = np.diff(times.astype(int), prepend=0)
    axes.set_xticks(places, [f"+{k}" for k in ahead], fontsize=7)
    axes.tick_params(length=0, pad=1)


def _skips(axes: Axes, chosen: list[Numbers]) -> None:
    together = np.concatenate(chosen)
    counts = np.bincount(together)[1:]
    bars = axes.bar(np.arange(1, len(counts) + 1), counts / counts.sum(), color=GREY)
    axes.bar_label(bars, [f"{100 * share:.0f} %" for share in counts / counts.sum()], fontsize=7)
    axes.set(xlabel="frames ahead", ylabel="share of calls", xticks=range(1, len(counts) + 1))
    axes.set_title(
        f"skips in all {len(chosen)} validation rollouts: {together.mean():.2f} frames per call", fontsize=9
    )
    axes.margins(y=0.15)
