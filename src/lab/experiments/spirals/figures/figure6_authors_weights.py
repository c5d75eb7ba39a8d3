"""Figure 6 at the authors' setting: three revolutions, their first weights, and all of the paper's epochs."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.figures.figure6 import draw_methods
from lab.experiments.spirals.settings import AUTHORS


def draw(results: Path) -> Figure:
    """Draw the methods with three revolutions and the first weights of the authors' code."""
    return draw_methods(results, AUTHORS)
