"""Figure 2.8 of the thesis: rollouts of the funnel board below the true frames, and the chosen skips."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.rollouts_drawing import draw_rollouts


def draw(results: Path) -> Figure:
    """Draw rollouts of the adaptive simulator with seed 0, at its last step."""
    return draw_rollouts(results, "funnel_board", ("1", "2", "3", "4", "5"), shown=2, columns=8)
