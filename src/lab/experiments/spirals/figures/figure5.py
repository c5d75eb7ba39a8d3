"""Figure 5: the dataset in four dimensions: two environments, both of them pooled, and the test set."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import NDArray
from torch import Tensor

from lab.data import make_spirals
from lab.experiments.spirals.drawing import REVOLUTIONS, boundary, draw_classes
from lab.figures.style import GREY, new_figure, room_for_titles, stamp

# A vertical line separates the classes of environment A, a horizontal one those of B, the diagonal both.
SHORTCUTS = torch.tensor([[0.5, 0.0], [0.0, 0.5]])
DIRECTIONS = {"environment A": (1, 0), "environment B": (0, 1), "A and B pooled": (1, 1)}
N_EXAMPLES = 400


def draw(results: Path) -> Figure:
    """Generate the examples and draw them; ``results`` is not needed."""
    del results
    data = make_spirals(
        seed=0,
        n_environments=2,
        examples_per_environment=N_EXAMPLES,
        shortcut_dimensions=2,
        n_test=N_EXAMPLES,
        revolutions=REVOLUTIONS,
        shortcut_noise=0.12,
        standardize_mechanism=False,
        shortcut_vectors=SHORTCUTS,
    )
    train, test = data.pooled(), data.evaluation["test"]
    columns: dict[str, tuple[Tensor, Tensor]] = {
        "environment A": (data.inputs[0], data.targets[0]),
        "environment B": (data.inputs[1], data.targets[1]),
        "A and B pooled": (train.inputs, train.targets),
        "test": (test.inputs, test.targets),
    }
    figure = new_figure(n_columns=4, n_rows=2, width=2.5, height=2.6)
    room_for_titles(figure)
    panels = figure.subplots(2, 4)
    for column, (title, (inputs, targets)) in enumerate(columns.items()):
        mechanism, shortcuts = panels[:, column]
        draw_classes(mechanism, inputs[:, :2], targets)
        draw_classes(shortcuts, inputs[:, 2:], targets)
        mechanism.plot(*boundary(), color="black", lw=1.2)
        if title in DIRECTIONS:
            shortcuts.plot(*_line(DIRECTIONS[title]), color="black", lw=1.5)
        else:
            shortcuts.set_title("no rule: drawn per example", fontsize=8, color=GREY, y=-0.1)
        mechanism.set_title(title, fontsize=10)
        for axes in (mechanism, shortcuts):
            _circle(axes)
    # The words label the rows directly, because the circles have no axes.
    for axes, label in zip(panels[:, 0], ("mechanism $d_M$", "shortcuts $d_S$"), strict=True):
        axes.text(-1.25, 0, label, rotation=90, ha="center", va="center", fontsize=10)
    panels[1, 0].legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=8)
    stamp(
        figure,
        f"every example drawn, n = {N_EXAMPLES} per environment, no intervals; black: the oracle's boundary; "
        "illustration in 2 + 2 dimensions;\ndata: synthetic spirals (make_spirals, seed 0), "
        "shortcuts chosen as in the paper's text, with noise 0.12 around them",
    )
    return figure


def _line(direction: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the line through the origin at right angles to ``direction``, inside the circle."""
    x, y = np.array(direction) / math.hypot(*direction)
    ends = np.array([-1.08, 1.08])
    return -y * ends, x * ends


def _circle(axes: Axes) -> None:
    axes.add_patch(Circle((0, 0), 1.1, fill=False, color=GREY, lw=1))
    axes.set(xlim=(-1.4, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    axes.axis("off")
