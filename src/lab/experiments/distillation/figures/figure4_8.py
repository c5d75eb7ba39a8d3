"""Thesis, figure 4.8: the difference of test error and training error on MuJoCo's returns."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.distillation.mujoco_panels import draw_panels
from lab.experiments.distillation.results import mujoco
from lab.figures.style import GREY


def draw(results: Path) -> Figure:
    """Draw a panel for each environment."""
    curves, runs = mujoco(results, "curves"), mujoco(results, "runs")
    curves["gap"] = curves["test/mse"] - curves["train/mse"]
    return draw_panels(curves, runs, "gap", "test error minus training error", 3.4, _add_zero)


def _add_zero(axes: Axes, name: str) -> None:
    axes.axhline(0, color=GREY, lw=0.8)
