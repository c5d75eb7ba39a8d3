"""Thesis, figure 4.7: test error on MuJoCo's returns during training."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.distillation.mujoco_panels import draw_panels
from lab.experiments.distillation.results import COLORS, TABLE_C_7, mujoco

DASHES = (0, (1, 3))


def draw(results: Path) -> Figure:
    """Draw a panel for each environment; dashes are the thesis's table C.7."""
    curves, runs = mujoco(results, "curves"), mujoco(results, "runs")
    return draw_panels(curves, runs, "test/mse", "test error of the return's rank", 3.6, _add_published)


def _add_published(axes: Axes, name: str) -> None:
    for method, value in TABLE_C_7[name].items():
        axes.axhline(value, color=COLORS["fixed" if method == "distill" else method], lw=1, ls=DASHES)
    axes.set_yscale("log")
    axes.plot([], [], color="black", lw=1, ls=DASHES, label="lowest in the thesis, same colours")
