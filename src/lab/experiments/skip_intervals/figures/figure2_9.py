"""Figure 2.9 of the thesis: validation accuracy over epochs, every seed, adaptive and fixed steps."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.curves_drawing import draw_over_epochs


def draw(results: Path) -> Figure:
    """Two rows of panels per domain that runs were made of."""
    return draw_over_epochs(results)
