"""Figure 15 at the authors' setting: three revolutions and their first weights."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.environments import environments_done
from lab.experiments.spirals.figures.figure15 import draw_environments
from lab.experiments.spirals.settings import AUTHORS
from lab.figures.pending import pending_figure


def draw(results: Path) -> Figure:
    """Draw plain training and the AND-mask with three revolutions and the authors' first weights."""
    if not environments_done(results, AUTHORS):
        return pending_figure("figure 15 at the authors' setting")
    return draw_environments(results, AUTHORS)
