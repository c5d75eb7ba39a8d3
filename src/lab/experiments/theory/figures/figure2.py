"""Figure 2: the mean step does not show whether the environments agree; the masked step does."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from torch import Tensor

from ilc.aggregators import AndMask
from lab.figures.style import COLORS, new_figure, stamp

CASES = {
    "consistent": [[0.5, 1.2], [1.3, 0.6], [1.2, 1.2]],
    "inconsistent in size": [[0.1, 2.2], [0.4, 0.3], [2.5, 0.5]],
    "inconsistent in sign": [[-0.8, 2.4], [0.6, 1.1], [3.2, -0.5]],
}
"""The gradients of three environments in each case. Their mean is (1, 1) in every case."""


def draw(results: Path) -> Figure:
    """Draw the figure from the numbers above. ``results`` is not needed."""
    del results
    figure = new_figure(n_columns=3, width=3.2, height=3.2)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, (title, gradients) in zip(panels, CASES.items(), strict=True):
        stacked = torch.tensor(gradients, dtype=torch.float64)
        _arrow(axes, stacked.mean(0), COLORS["mean"], 7)
        masked = AndMask(1.0)(stacked)
        if bool(masked.any()):
            _arrow(axes, masked, COLORS["and_mask"], 3.5)
        else:
            axes.plot(0, 0, "o", color=COLORS["and_mask"], ms=9, zorder=3)
        # The gradients are drawn last and thin, because the short arrow points in the same direction.
        for gradient in stacked:
            _arrow(axes, gradient, "black", 1)
        axes.set_title(title, fontsize=10)
        axes.set_aspect("equal")
        axes.set_xlim(-1.2, 3.6)
        axes.set_ylim(-1.2, 3.0)
    panels[0].plot([], [], color="black", lw=1, label="environments")
    panels[0].plot([], [], color=COLORS["mean"], lw=7, label="mean")
    panels[0].plot([], [], color=COLORS["and_mask"], lw=3.5, label="AND-mask, threshold 1")
    panels[0].legend(loc="upper right", fontsize=8)
    stamp(
        figure,
        "three environments' gradients with mean (1, 1) in every case; chosen by hand; dot: masked to zero",
    )
    return figure


def _arrow(axes: Axes, vector: Tensor, color: str, width: float) -> None:
    shape = f"Simple,tail_width={width},head_width={2 * width + 3},head_length={width + 5}"
    end = (float(vector[0]), float(vector[1]))
    axes.add_patch(FancyArrowPatch((0, 0), end, arrowstyle=shape, color=color, lw=0, shrinkA=0, shrinkB=0))
