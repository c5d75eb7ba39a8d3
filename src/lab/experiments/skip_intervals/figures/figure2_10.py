"""Figure 2.10 of the thesis: accuracy by number of model evaluations, in training and in a rollout."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.curves_drawing import draw_over_evaluations


def draw(results: Path) -> Figure:
    """Draw two panels for each domain that has runs."""
    return draw_over_evaluations(results)
