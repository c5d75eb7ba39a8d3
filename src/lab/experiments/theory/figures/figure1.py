"""Figure 1: the pooled landscape and those of both environments, with paths of gradient descent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from lab.experiments.theory.landscape import CONSISTENT, PATCHWORK, TRAINING, environment_gradient
from lab.figures.style import COLORS, new_figure, stamp

STARTS = ((-1.0, 0.3), (0.1, -1.0), (-0.9, -1.1), (1.1, 0.2), (0.3, 1.1), (0.5, 0.5))
LEARNING_RATE, STEPS = 0.1, 600


def draw(results: Path) -> Figure:
    """Draw the figure from formulas. ``results`` is not needed."""
    del results
    figure = new_figure(n_columns=3, width=3.4, height=3.9)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    titles = ("A and B pooled", "environment A", "environment B")
    for axes, environments, title in zip(panels, ([0, 1], [0], [1]), titles, strict=True):
        _landscape(axes, environments)
        for path in _paths(environments).unbind(1):
            axes.plot(*path.T.numpy(), color="white", lw=2.6)
            axes.plot(*path.T.numpy(), color=COLORS["mean"], lw=1.5)
            axes.plot(*path[0].numpy(), "o", mfc="white", mec="black", ms=6)
            axes.plot(*path[-1].numpy(), "s", mfc=COLORS["mean"], mec="black", ms=5)
        axes.plot(*CONSISTENT, "*", color=COLORS["geometric_mean"], mec="black", ms=13)
        axes.plot(*PATCHWORK, "X", color=COLORS["irm_penalty"], mec="black", ms=9)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("$\\theta_1$")
        axes.grid(False)
    panels[0].set_ylabel("$\\theta_2$")
    stamp(
        figure,
        "gradient descent from six starts (circles) to where it ends (squares); star: (-0.5, -0.5), "
        "a minimum of each environment; cross: (0.8, 0.8), a minimum of the pooled risk only; own formula",
    )
    return figure


def _landscape(axes: Axes, environments: list[int]) -> None:
    grid = torch.linspace(-1.25, 1.25, 161, dtype=torch.float64)
    points = torch.stack(torch.meshgrid(grid, grid, indexing="xy"), dim=-1)
    risk = torch.stack([TRAINING[e](points) for e in environments]).mean(0).numpy()
    axes.contourf(grid, grid, np.sqrt(risk), levels=24, cmap="Blues")
    axes.contour(grid, grid, np.sqrt(risk), levels=12, colors="white", linewidths=0.4)
    axes.set_aspect("equal")


def _paths(environments: list[int]) -> Tensor:
    """Return trajectories ``[steps + 1, starts, 2]`` of gradient descent."""
    path = [torch.tensor(STARTS, dtype=torch.float64)]
    for _ in range(STEPS):
        slopes = [environment_gradient("AB"[e], path[-1]) for e in environments]
        path.append(path[-1] - LEARNING_RATE * torch.stack(slopes).mean(0))
    return torch.stack(path)
