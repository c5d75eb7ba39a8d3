"""Figure 8: the mask hinders the memorisation of random labels, not the learning of true ones."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import about, draw_thresholds, seeds_per, threshold_runs
from ilc.figures.style import GREY, as_percent, new_figure, stamp


def draw(results: Path) -> Figure:
    """Final training accuracy against the threshold."""
    runs = threshold_runs(results)
    figure = new_figure(width=6.0, height=3.6)
    axes = figure.subplots()
    draw_thresholds(axes, runs, "train/accuracy", "-")
    as_percent(axes)
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    axes.text(axes.get_xlim()[1], 0.11, "chance", ha="right", fontsize=8, color=GREY)
    axes.set_ylabel("train accuracy, last epoch")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 0.15))
    n = seeds_per(runs, ["aggregator.agreement_threshold", "dataset.label_noise"])
    stamp(figure, about(runs, f"lines: median, marks: each seed, {n}"))
    return figure
