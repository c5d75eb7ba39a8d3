"""Figure 12: ellipses of the paper's and the thesis's pair of Hessians, by the Hessian and by its inverse."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.figure import Figure

from lab.experiments.theory.ellipses import PAIR, draw_ellipses, ratios
from lab.figures.style import new_figure, stamp

THESIS_PAIR = torch.diag_embed(torch.tensor([[0.05, 1.0], [1.0, 0.05]], dtype=torch.float64))


def draw(results: Path) -> Figure:
    """Draw the figure from formulas. ``results`` is not needed."""
    del results
    figure = new_figure(n_columns=2, n_rows=2, width=4.6, height=4.1)
    panels = figure.subplots(2, 2)
    determinants: list[float] = []
    for row, (pair, small) in zip(panels, ((PAIR, "0.01"), (THESIS_PAIR, "0.05")), strict=True):
        determinant, volume = ratios(pair)
        determinants.append(determinant)
        for axes, inverse in zip(row, (True, False), strict=True):
            draw_ellipses(axes, pair, inverse)
            contour = "\\theta^T H^{-1}\\theta" if inverse else "\\theta^T H\\theta"
            change = f"{volume:.2f} times" if inverse else f"1/{volume:.2f} of"
            axes.set_title(f"{small}: ${contour} = 1$, A+B has {change} the area of A∧B", fontsize=9)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=7.5, ncols=2)
    printed = " and ".join(f"{value:.2f}" for value in determinants)
    stamp(
        figure,
        "printed: 100 times (paper, 0.01), 25 and 5 times (thesis, 0.01 and 0.05); the thesis's numbers "
        f"are ratios\nof determinants ({printed}), not of areas; computed from the formulas",
    )
    return figure
