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
WIDTH = 8.8
"""The width of the figure in inches."""
EMPTY, BETWEEN = 0.92, 0.7
"""The greys of places without a prediction, and of the lines between frames."""


def draw_rollouts(results: Path, name: str, labels: tuple[str, ...], shown: int, columns: int) -> Figure:
    """Draw the first validation trajectories of a domain: true frames, and below each one its prediction.

    Only frames with which a prediction was matched are drawn, after the first one, which the simulator saw.

    Args:
        results: the folder of committed files.
        name: name of the domain.
        labels: text of each label.
        shown: the number of trajectories.
        columns: the largest number of frames side by side. A longer rollout continues below.
    """
    with np.load(results / FOLDER / f"{name}_rollouts.npz") as file:
        kept = dict(file)
    about = pd.read_csv(results / FOLDER / "data.csv").set_index("dataset").loc[name]
    height, width = kept["frames"].shape[-2:]
    parts = [(row, first) for row in range(shown) for first in range(0, int(kept["calls"][row]) + 1, columns)]
    pair = WIDTH / columns * 2 * height / width + 0.35
    figure = new_figure(width=WIDTH, height=pair * len(parts) + 1.9)
    panels = figure.subplots(len(parts) + 1, 1, height_ratios=[pair] * len(parts) + [1.6])
    for axes, (row, first) in zip(panels, parts, strict=False):
        times = kept["times"][row, : int(kept["calls"][row])].astype(int)
        _pairs(axes, kept["frames"][row], kept["predicted"][row], times, range(first, first + columns))
        if first == 0:
            title = f"trajectory {row}, label {labels[int(kept['labels'][row])]}"
            axes.set_title(title, fontsize=10, loc="left")
        axes.set_yticks([0.5 * height, 1.5 * height], ["true", "predicted"], fontsize=9)
    _skips(panels[-1], skips(kept["times"].astype(int), kept["calls"]))
    label = METHODS[str(kept["method"])]
    source = str(about.data_source).replace(" (", "\n(", 1)
    stamp(
        figure,
        f"the true frames with which predictions are matched, and how many frames each call went ahead;\n"
        f"the first {shown} held-out trajectories, without selection; {label}, seed {kept['seed']}, after "
        f"{kept['step']} steps;\n{source}",
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


def _pairs(axes: Axes, frames: Numbers, predicted: Numbers, times: Numbers, columns: range) -> None:
    """Draw these columns of a rollout, a true frame above its prediction in each.

    Column 0 is the first frame, which has no prediction. Column c is the match of call c.
    """
    _, channels, height, width = frames.shape
    canvas = np.ones((2 * height + 1, len(columns) * (width + 1) - 1, channels))
    words = []
    for place, column in enumerate(column for column in columns if column <= len(times)):
        left = place * (width + 1)
        canvas[:, left : left + width + 1] = BETWEEN
        time = int(times[column - 1]) if column else 0
        canvas[:height, left : left + width] = frames[time].transpose(1, 2, 0)
        below = np.full((height, width, channels), EMPTY)
        if 0 < column <= len(predicted):
            below = predicted[column - 1].transpose(1, 2, 0) / 255
        canvas[height + 1 :, left : left + width] = below
        before = int(times[column - 2]) if column > 1 else 0
        words.append(f"+{time - before}" if column else "first frame")
    axes.imshow(canvas, interpolation="nearest")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_xticks([place * (width + 1) + width / 2 for place in range(len(words))], words, fontsize=9)
    axes.tick_params(length=0, pad=2)


def _skips(axes: Axes, chosen: list[Numbers]) -> None:
    together = np.concatenate(chosen)
    counts = np.bincount(together)[1:]
    bars = axes.bar(np.arange(1, len(counts) + 1), counts / counts.sum(), color=GREY)
    axes.bar_label(bars, [f"{100 * share:.0f} %" for share in counts / counts.sum()], fontsize=8)
    axes.set(xlabel="frames ahead", ylabel="share of calls", xticks=range(1, len(counts) + 1))
    axes.set_title(
        f"skips in all {len(chosen)} validation rollouts: {together.mean():.2f} frames per call", fontsize=9
    )
    axes.margins(y=0.15)
