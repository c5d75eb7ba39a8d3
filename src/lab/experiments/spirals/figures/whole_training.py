"""Learning curves of every method on the spirals, over all of the paper's epochs."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.figures.figure14 import draw_curves
from lab.experiments.spirals.settings import WHOLE, WHOLE_RUNS


def draw(results: Path) -> Figure:
    """Draw a panel per method. Only the paper's rule ends a run."""
    return draw_curves(results, WHOLE_RUNS, WHOLE.epochs)
