"""CoinRun, 40 trials each with and without the temporal mask, lowest test KL: undecided."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.coinrun.trials import METHODS, TICKS, read_trials
from ilc.figures.style import COLORS
from ilc.figures.thumbnails import label, new_thumbnail

MARKERS = {"mean": "o", "temporal_mask": "^"}


def draw(results: Path) -> Figure:
    """All completed trials by rank."""
    trials = read_trials(results)
    figure, axes = new_thumbnail("lowest test KL by rank / nats")
    for place, (name, study) in zip((0.32, 0.27), trials.groupby("aggregator"), strict=True):
        color = COLORS[str(name)]
        axes.plot(study["rank"], study.lowest, MARKERS[str(name)], color=color, ms=3.5)
        label(axes, 1, place, METHODS[str(name)], color, "left")
    axes.set_yscale("log")
    axes.set_yticks(TICKS, [f"{tick:.2f}" for tick in TICKS])
    axes.minorticks_off()
    return figure
