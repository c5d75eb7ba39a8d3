"""Figure 3: arithmetic and geometric mean of two Hessians, with the volume ratio that we computed."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.theory.ellipses import PAIR, draw_ellipses, ratios
from lab.figures.style import new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw the figure from formulas. ``results`` is not needed."""
    del results
    figure = new_figure(width=6.0, height=5.6)
    axes = figure.subplots()
    draw_ellipses(axes, PAIR, inverse=True)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=9)
    axes.set_title(
        "$\\theta^T H^{-1}\\theta = 1$ for $H_A$ = diag(0.01, 1), $H_B$ = diag(1, 0.01)", fontsize=10
    )
    determinant, volume = ratios(PAIR)
    stamp(
        figure,
        f"volume of A+B is {volume:.2f} times that of A∧B (determinant {determinant:.1f} times); "
        "the paper prints 100 times; computed from the formulas",
    )
    return figure
