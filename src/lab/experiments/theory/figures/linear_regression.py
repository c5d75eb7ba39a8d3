"""The authors' linear regression: weights during training, and how much noise breaks the mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.figures.style import COLORS, GREY, LABELS, new_figure, stamp

CURVES = Path("theory/linear_regression.csv")
NOISE = Path("theory/linear_regression_noise.csv")


def draw(results: Path) -> Figure:
    """Draw the figure from the committed runs."""
    curves, noise = pd.read_csv(results / CURVES), pd.read_csv(results / NOISE)
    figure = new_figure(n_columns=3, width=3.7, height=3.1)
    panels = figure.subplots(1, 3)
    for name, runs in curves.groupby("aggregator"):
        for seed, run in runs.groupby("seed"):
            label = LABELS[str(name)] if seed == runs.seed.min() else None
            panels[0].plot(run.step, run.private_1, color=COLORS[str(name)], lw=0.8, alpha=0.6, label=label)
            panels[1].plot(run.step, run.shared, color=COLORS[str(name)], lw=0.8, alpha=0.6)
    panels[0].axhline(1 / 3, color=GREY, lw=0.8, ls=":")
    panels[1].axhline(10 / 3, color=GREY, lw=0.8, ls=":")
    panels[0].set_title("weight of the first private feature\n(dotted: 1/3, the patchwork)", fontsize=9)
    panels[1].set_title(
        "weight of the shared feature\n(dotted: 10/3, zero risk without the others)", fontsize=9
    )
    levels = sorted(noise.noise.unique())
    for (name, runs), marker in zip(noise.groupby("aggregator"), "osD", strict=True):
        median = runs.groupby("noise").test_risk.median()
        panels[2].plot(range(len(levels)), median[levels], color=COLORS[str(name)], lw=1.5)
        for place, level in enumerate(levels):
            risks = runs[runs.noise == level].test_risk
            panels[2].plot([place] * len(risks), risks, marker, color=COLORS[str(name)], ms=3, alpha=0.5)
    panels[2].set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    panels[2].set_yscale("log")
    panels[2].set_title("risk in an unseen environment\n(line: median)", fontsize=9)
    panels[2].set_xlabel("half-width of the noise on private features")
    for axes in panels[:2]:
        axes.set_xlabel("step")
    panels[0].legend(fontsize=8)
    n = noise.seed.nunique()
    stamp(
        figure,
        f"n = {n} seeds, every seed drawn; threshold 1, weight decay 0.01; data: the authors' four examples",
    )
    return figure
