"""Figure 2.9 of the thesis: validation accuracy by epoch of every seed, with adaptive and fixed steps."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.curves_drawing import draw_over_epochs


def draw(results: Path) -> Figure:
    """Draw two rows of panels for each domain that has runs."""
    return draw_over_epochs(results)
