"""Which components of a network's first layer a vote of two environments would keep, during training."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.irm.color_votes import (
    COLORED_MNIST,
    FIRST_NOISE,
    METHODS,
    SECOND_NOISES,
    STEPS_SEEN,
    read_votes,
)
from lab.figures.style import GREY, as_percent, data_sources, median_and_range, new_figure, stamp

PARTS = {"kept_color": "weights on the colour", "kept_shape": "weights on the shape"}
NOISES = (COLORED_MNIST, SECOND_NOISES[-1])
SHOWN = (0, 10, 40, STEPS_SEEN[-1])


def draw(results: Path) -> Figure:
    """Draw a row per pair of environments, and a column for the colour and for the shape."""
    figure = new_figure(n_columns=2, n_rows=2, width=4.6, height=2.7)
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for row, noise in zip(grid, NOISES, strict=True):
        votes = read_votes(results, noise)
        for axes, (key, part) in zip(row, PARTS.items(), strict=True):
            axes.axhline(0.5, color=GREY, lw=0.8, ls=":")
            for name, method in METHODS.items():
                seeds = votes[votes.method == name].pivot(index="step", columns="seed", values=key)
                if seeds.dropna().empty:
                    continue
                style = {"color": method.color, "ls": method.style}
                axes.plot(seeds.index, seeds, lw=0.5, alpha=0.4, **style)
                axes.plot(seeds.index, seeds.median(axis=1), lw=2, label=method.label, **style)
            axes.set_title(f"{part}, colour noise {FIRST_NOISE:g} and {noise:g}", fontsize=10)
            axes.set_xscale("symlog", linthresh=3)
            axes.set_xticks([0, 3, 10, 20, 40, 100, STEPS_SEEN[-1]])
            axes.set_xticklabels(["0", "3", "10", "20", "40", "100", str(STEPS_SEEN[-1])])
            axes.minorticks_off()
            as_percent(axes)
        row[0].set_ylabel("components in which\nthe signs agree")
    grid[0, 0].text(0, 0.52, "chance", fontsize=8, color=GREY)
    for axes in grid[-1]:
        axes.set_xlabel("optimizer step")
    handles, labels = grid[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    all_votes = read_votes(results)
    n = all_votes.groupby(["second_noise", "method"]).seed.nunique().min()
    stamp(
        figure,
        "above Colored MNIST, below the colour turned round in the second environment; "
        f"thick: median of n = {n} seeds, thin: each seed;\n"
        "the first layer's gradients of both environments, all training images; "
        f"perceptron 2 x 32, full batches; data: {data_sources(all_votes)}",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return the share of components in which the signs agree: median and range over seeds, in per cent."""
    rows = []
    for noise in NOISES:
        votes = read_votes(results, noise)
        for name, method in METHODS.items():
            own = votes[votes.method == name]
            for key, part in PARTS.items():
                if own[key].dropna().empty:
                    continue
                row = {
                    "colour noise": f"{FIRST_NOISE:g}, {noise:g}",
                    "method": method.label,
                    "components": part,
                }
                shown = {f"step {step}": median_and_range(own[own.step == step][key]) for step in SHOWN}
                rows.append(row | shown)
    return pd.DataFrame(rows)
