"""Figure 2.7 of the thesis: rollouts of the room runner below the true frames, and the chosen skips."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.skip_intervals.rollouts_drawing import draw_rollouts


def draw(results: Path) -> Figure:
    """Draw rollouts of the adaptive simulator with seed 0, at its last step."""
    return draw_rollouts(results, "room_runner", ("red", "blue"), shown=3, columns=10)
