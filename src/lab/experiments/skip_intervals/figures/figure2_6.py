"""Figure 2.6 of the thesis: examples of the funnel board."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.examples_drawing import draw_examples


def draw(results: Path) -> Figure:
    """Draw the first frame, the merged trajectory and the label of each example."""
    return draw_examples(results, "funnel_board", [f"platform {number}" for number in range(1, 6)])
