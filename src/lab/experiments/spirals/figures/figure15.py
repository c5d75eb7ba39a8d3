"""Figure 15: test accuracy by the number of training environments, with and without the AND-mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.spirals.environments import CAP, EACH, read_environments, seeds_per_point, size_axis
from lab.experiments.spirals.methods import CHANCE, LOWEST
from lab.experiments.spirals.readings import PLAIN_STEPS
from lab.experiments.spirals.settings import TWO, Setting
from lab.figures.style import COLORS, GREY, LABELS, as_percent, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw the two methods with PyTorch's first weights and two revolutions."""
    return draw_environments(results, TWO)


def draw_environments(results: Path, setting: Setting) -> Figure:
    """Draw the test accuracy of plain training and of the AND-mask by the number of environments."""
    plain, masked = read_environments(results, setting)
    figure = new_figure(width=7.4, height=3.6)
    axes = figure.subplots()
    (threshold,) = masked.threshold.unique()
    _line(axes, plain, COLORS["mean"], "o", LABELS["mean"])
    _line(axes, masked, COLORS["and_mask"], "s", f"{LABELS['and_mask']}, threshold {threshold:g}")
    axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
    size_axis(axes, sorted(plain.n_environments.unique()))
    axes.set_ylabel("test accuracy")
    as_percent(axes, LOWEST)
    _shade(axes, masked[masked.n_environments > CAP // EACH])
    axes.legend(fontsize=9)
    stamp(
        figure,
        f"n = {seeds_per_point(plain, masked)} seeds per point, all drawn; solid: the best one as in the "
        "paper (sees test data); dashed: median; dotted: chance;\nthe thesis's configuration without a "
        f"stop rule; AND-mask: updates rescaled, {_steps(masked)} of {EACH} examples of each environment,\n"
        f"or of {CAP:,} in all beyond {CAP // EACH} environments (shaded); plain training: {PLAIN_STEPS:,} "
        f"steps of 128 examples in all;\n{setting.described}; scale=paper; data: "
        f"{data_sources(pd.concat([plain, masked]))}",
    )
    return figure


def _steps(masked: pd.DataFrame) -> str:
    """Return the number of steps of the AND-mask's runs, in words. It is the same for all runs."""
    (steps,) = masked.step.unique()
    return f"{steps:,} steps"


def _shade(axes: Axes, capped: pd.DataFrame) -> None:
    """Shade the AND-mask's runs with few examples of each environment, and say where nothing passes."""
    sizes, color = capped.n_environments, COLORS["and_mask"]
    axes.axvspan(sizes.min() / 2**0.5, sizes.max() * 2**0.5, color=color, alpha=0.08, lw=0)
    blocked = int((capped["mask/density"] == 0).sum())
    where = "" if blocked == len(capped) else f"\nin {blocked} of {len(capped)} runs"
    words = f"AND-mask:\n{CAP:,} examples a step,\nno component passes{where}"
    axes.text(1.1 * sizes.min(), 0.8, words, color=color)


def _line(axes: Axes, runs: pd.DataFrame, color: str, marker: str, label: str) -> None:
    """Draw every seed, the best seed and the median."""
    test, size = runs["test/accuracy"], runs.n_environments
    axes.plot(size, test, marker, color=color, alpha=0.3, ms=4, mec="none")
    accuracy = test.groupby(size)
    axes.plot(accuracy.max(), color=color, lw=1.8, marker=marker, ms=6, label=label)
    axes.plot(accuracy.median(), color=color, lw=1.2, ls="--")
