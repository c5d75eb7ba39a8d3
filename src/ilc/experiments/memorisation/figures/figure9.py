"""Figure 9: with 25 % of the labels redrawn, the mask does not fit the wrong ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.memorisation.results import FOLDER, about, seeds_per
from ilc.figures.style import COLORS, GREY, LABELS, as_percent, new_figure, stamp

STYLES = {"mean": "--", "and_mask": "-"}


def draw(results: Path) -> Figure:
    """Left: the mislabelled training examples against their wrong labels. Right: the test set."""
    curves = pd.read_csv(results / FOLDER / "label_noise_curves.csv")
    runs = pd.read_csv(results / FOLDER / "label_noise_runs.csv")
    figure = new_figure(n_columns=2)
    panels = figure.subplots(1, 2, sharey=True)
    titles = (
        ("train/accuracy_mislabeled", "mislabelled training examples,\nagainst their wrong labels"),
        ("test/accuracy", "test set"),
    )
    for axes, (key, title) in zip(panels, titles, strict=True):
        for aggregator, style in STYLES.items():
            seeds = curves[curves.aggregator == aggregator].pivot(index="epoch", columns="seed", values=key)
            color = COLORS[aggregator]
            axes.plot(seeds.index, seeds, style, color=color, lw=0.6, alpha=0.6)
            axes.plot(seeds.index, seeds.median(axis=1), style, color=color, lw=2, label=LABELS[aggregator])
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch")
        as_percent(axes)
        axes.axhline(0.1, color=GREY, lw=0.8, ls=":")
    panels[0].set_ylabel("accuracy")
    panels[1].legend(loc="lower right")
    panels[0].text(curves.epoch.max(), 0.11, "chance", ha="right", fontsize=8, color=GREY)
    stamp(figure, about(runs, f"thick: median, thin: each seed, {seeds_per(runs, ['aggregator'])}"))
    return figure
