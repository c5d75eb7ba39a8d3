"""Figure 4: how fast masked and averaged random gradients shrink with the number of environments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from lab.experiments.theory.propositions import (
    decay_base,
    expected_masked_square,
    masked_square_bound,
    simulate_squares,
    votes_needed,
)
from lab.figures.style import COLORS, GREY, new_figure, stamp

N_PARAMETERS = 3000
N_DRAWS = 10
SHARE = 0.8
ENVIRONMENTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 192, 256, 384, 512)


def draw(results: Path) -> Figure:
    """Draw the figure from a simulation, which takes seconds. ``results`` is not needed."""
    del results
    generator = torch.Generator().manual_seed(0)
    figure = new_figure(width=7.4, height=4.2)
    axes = figure.subplots()
    d = np.array(ENVIRONMENTS)
    votes = [votes_needed(n, SHARE) for n in ENVIRONMENTS]
    drawn = np.array(
        [
            [simulate_squares(n, t, N_PARAMETERS, generator) for _ in range(N_DRAWS)]
            for n, t in zip(ENVIRONMENTS, votes, strict=True)
        ]
    )
    for column, name, label in ((0, "mean", "mean"), (1, "and_mask", "AND-mask")):
        means = drawn[:, :, column].mean(1)
        marker = "s" if name == "mean" else "o"
        shown = means > 0
        axes.plot(d[shown], means[shown], marker, color=COLORS[name], ms=6, label=f"{label}, drawn")
    exact = [N_PARAMETERS * expected_masked_square(n, t) for n, t in zip(ENVIRONMENTS, votes, strict=True)]
    bound = [N_PARAMETERS * masked_square_bound(n, t) for n, t in zip(ENVIRONMENTS, votes, strict=True)]
    axes.plot(d, N_PARAMETERS / d, color=COLORS["mean"], lw=1.2, label="mean, exact: $n/d$")
    axes.plot(d, exact, color=COLORS["and_mask"], lw=1.2, label="AND-mask, exact (binomial)")
    axes.plot(d, bound, color=GREY, lw=1, ls="--", label="corrected bound")
    base = decay_base(SHARE)
    axes.plot(
        d,
        N_PARAMETERS / base**d,
        color="black",
        lw=1,
        ls=":",
        label=f"corrected rate $n/c^d$, c = {base:.3f}",
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(1e-8, 2e4)
    axes.set_xlabel("environments d")
    axes.set_ylabel("squared norm of the step")
    axes.legend(fontsize=8, loc="lower left")
    never = min(n for n, squares in zip(ENVIRONMENTS, drawn[:, :, 1], strict=True) if not squares.any())
    stamp(
        figure,
        f"n = {N_PARAMETERS:,} parameters, standard normal gradients, t = ⌈{SHARE} d⌉, "
        f"mean of {N_DRAWS} draws;\nno component survived any draw from d = {never} on",
    )
    return figure
