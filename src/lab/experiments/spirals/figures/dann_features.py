"""How well DANN's domain classifier names the environment, for linear features and for a perceptron."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.spirals.domains import ACCURACY, GROUPS, chance, read_domains
from lab.experiments.spirals.methods import CHANCE
from lab.figures.style import COLORS, GREY, as_percent, data_sources, new_figure, stamp

STYLES = ((":", GREY), ("-", COLORS["dann"]), ("--", COLORS["mean"]))
"""The line style and colour of each of ``GROUPS``."""
PANELS = (
    (ACCURACY, "environment (domain classifier)"),
    ("train/accuracy", "label, training environments"),
    ("test/accuracy", "label, test"),
)


def draw(results: Path) -> Figure:
    """Draw a line per seed and group.

    The left panel shows the domain classifier, the other two show the label classifier.
    """
    curves, runs = read_domains(results, "curves"), read_domains(results, "runs")
    figure = new_figure(n_columns=3, width=3.2, height=2.8)
    panels = figure.subplots(1, 3)
    for axes, (key, title) in zip(panels, PANELS, strict=True):
        for (group, label), (style, color) in zip(GROUPS.items(), STYLES, strict=True):
            chosen = curves[[own == group for own in curves.group]]
            for i, (_, run) in enumerate(chosen.groupby("seed")):
                name = None if i else label
                axes.plot(run.epoch, run[key], ls=style, color=color, lw=1.2, alpha=0.8, label=name)
        guess = chance(runs) if key == ACCURACY else CHANCE
        axes.axhline(guess, color=GREY, lw=0.8)
        axes.text(curves.epoch.max(), guess - 0.015, "chance", fontsize=8, color=GREY, ha="right", va="top")
        axes.set(xlabel="epoch")
        axes.set_title(title, fontsize=10)
        as_percent(axes)
        axes.set_ylim(bottom=-0.1)
    panels[0].set_ylabel("accuracy")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    n = runs.groupby("group").seed.nunique().min()
    stamp(
        figure,
        f"n = {n} seeds each, a line per seed; no adversary: the domain classifier's gradient does not "
        "reach the features; Adam at 1e-3,\n128 examples per environment, no stop rule; scale=paper; data: "
        f"{data_sources(runs)}",
    )
    return figure
