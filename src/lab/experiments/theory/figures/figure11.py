"""Figure 11: the patchwork network, and each environment's loss while a single parameter changes."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.figure import Figure

from lab.experiments.theory.patchwork import (
    ALTERED,
    CENTRED,
    PATCHWORK,
    environment_risks,
    network,
    target,
)
from lab.figures.style import COLORS, GREY, new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw the figure from formulas. ``results`` is not needed."""
    del results
    figure = new_figure(n_columns=3, width=3.4, height=3.2)
    panels = figure.subplots(1, 3)
    x = torch.linspace(0, 1, 1001, dtype=torch.float64)
    risks = environment_risks("interval")
    names = ("$\\theta^*$ as printed", "$\\tilde\\theta^*$: $\\theta_6 = -0.5$")
    for axes, values, title in zip(panels[:2], (PATCHWORK, ALTERED), names, strict=True):
        theta = torch.tensor(values, dtype=torch.float64)
        axes.axvspan(0, 0.5, color=COLORS["temporal_mask"], alpha=0.15, lw=0)
        axes.axvspan(0.5, 1, color=COLORS["irm_penalty"], alpha=0.15, lw=0)
        axes.plot(x, target(x), color=GREY, lw=3, label="target")
        axes.plot(x, network(theta, x), color=COLORS["mean"], lw=1.6, label="network")
        a, b = (float(risk(theta)) for risk in risks)
        axes.set_title(f"{title}\nMSE on A {a:.3f}, on B {b:.3f}", fontsize=9)
        axes.set_xlabel("x  (A left, B right)")
        axes.set_ylim(-0.8, 2.3)
    panels[0].legend(fontsize=8, loc="upper left")
    shifts = torch.linspace(-1.5, 1.5, 121, dtype=torch.float64)
    for index, line in ((4, "--"), (5, "-")):
        moved = torch.tensor(PATCHWORK, dtype=torch.float64).repeat(len(shifts), 1)
        moved[:, index] += shifts
        for risk, name, color in zip(risks, "AB", (COLORS["and_mask"], COLORS["mean"]), strict=True):
            losses = torch.stack([risk(theta) for theta in moved])
            label = f"{name} as $\\theta_{index + 1}$ moves"
            panels[2].plot(shifts, losses, color=color, ls=line, lw=1.8, label=label)
    panels[2].set_xlabel("change of the parameter")
    panels[2].set_ylabel("MSE of the environment")
    panels[2].set_title("losses along single parameters", fontsize=9)
    panels[2].legend(fontsize=8)
    better = [float(risk(torch.tensor(CENTRED, dtype=torch.float64))) for risk in risks]
    stamp(
        figure,
        f"two-neuron network of equation 5; 1,001 even points; with $\\theta_2 = -45$ instead of -50 "
        f"the MSE would be {better[0]:.3f} and {better[1]:.3f}",
    )
    return figure
