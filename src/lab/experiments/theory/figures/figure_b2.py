"""Thesis, figure B.2: the arithmetic mean is constant, the geometric mean falls as surfaces agree less."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ilc.consistency import arithmetic_mean, diagonal_geometric_mean
from lab.figures.style import COLORS, new_figure, stamp

SPREADS = (1.0, 3.0, 15.0)
"""The ratios of the two curvatures in each direction. The mean curvature is always 1."""
POINT = torch.tensor([0.7, 0.7], dtype=torch.float64)


def draw(results: Path) -> Figure:
    """Draw the figure from formulas. ``results`` is not needed."""
    del results
    figure = new_figure(n_columns=4, n_rows=len(SPREADS), width=2.3, height=2.3)
    panels = figure.subplots(len(SPREADS), 4, sharex=True, sharey=True)
    for row, spread in zip(panels, SPREADS, strict=True):
        large = 2 * spread / (1 + spread)
        pair = torch.diag_embed(torch.tensor([[large, 2 - large], [2 - large, large]], dtype=torch.float64))
        surfaces = {
            "environment A": pair[0],
            "environment B": pair[1],
            "arithmetic mean": arithmetic_mean(pair),
            "geometric mean": diagonal_geometric_mean(pair),
        }
        for axes, (name, hessian) in zip(row, surfaces.items(), strict=True):
            length = _surface(axes, hessian)
            is_first = spread == SPREADS[0]
            axes.set_title(
                f"{name}\n|gradient| {length:.2f}" if is_first else f"|gradient| {length:.2f}", fontsize=8.5
            )
        row[0].set_ylabel(f"curvature ratio {spread:g}", fontsize=8.5)
    stamp(
        figure,
        "contours of quadratic surfaces and their negative gradient at (0.7, 0.7), drawn to one scale; "
        "own formulas",
    )
    return figure


def _surface(axes: Axes, hessian: Tensor) -> float:
    """Draw contours and the descent direction, and return the length of the gradient."""
    grid = torch.linspace(-1, 1, 81, dtype=torch.float64)
    points = torch.stack(torch.meshgrid(grid, grid, indexing="xy"), dim=-1)
    axes.contour(
        grid, grid, 0.5 * ((points @ hessian) * points).sum(-1), levels=9, cmap="Blues_r", linewidths=0.9
    )
    gradient = hessian @ POINT
    style = {"arrowstyle": "-|>", "color": COLORS["mean"], "lw": 2, "shrinkA": 0, "shrinkB": 0}
    start, end = ((float(p[0]), float(p[1])) for p in (POINT, POINT - 0.6 * gradient))
    axes.annotate("", xy=end, xytext=start, arrowprops=style)
    axes.set_aspect("equal")
    axes.grid(False)
    return float(gradient.norm())
