"""Figure 15 at the authors' setting: three revolutions and their first weights."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.figures.figure15 import draw_environments
from lab.experiments.spirals.settings import AUTHORS


def draw(results: Path) -> Figure:
    """Draw plain training and the AND-mask with three revolutions and the authors' first weights."""
    return draw_environments(results, AUTHORS)
