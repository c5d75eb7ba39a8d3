"""Figure 13: the two spirals of the mechanism."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.data import make_spirals
from lab.experiments.spirals.drawing import REVOLUTIONS, boundary, draw_classes
from lab.figures.style import new_figure, stamp

N_EXAMPLES = 1280


def draw(results: Path) -> Figure:
    """Generate one environment of the paper's size and draw its mechanism; ``results`` is not needed."""
    del results
    data = make_spirals(
        seed=0,
        n_environments=1,
        examples_per_environment=N_EXAMPLES,
        revolutions=REVOLUTIONS,
        standardize_mechanism=False,
    )
    figure = new_figure(width=5.4, height=5.4)
    axes = figure.subplots()
    draw_classes(axes, data.inputs[0, :, :2], data.targets[0], size=3.4)
    axes.plot(*boundary(), color="black", lw=1, label="oracle boundary")
    axes.set_aspect("equal")
    axes.set_xlabel("first mechanism dimension")
    axes.set_ylabel("second mechanism dimension")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=9, columnspacing=1.2)
    stamp(
        figure,
        f"every example of one environment drawn, n = {N_EXAMPLES:,} (paper's size), no interval;\n"
        f"{REVOLUTIONS:g} revolutions (open in the paper), before the scaling to unit variance;\n"
        "data: synthetic spirals (make_spirals, seed 0)",
    )
    return figure
