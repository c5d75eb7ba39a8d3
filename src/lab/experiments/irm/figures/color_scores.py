"""The consistency score of networks on Colored MNIST, on the training environments and with the test one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.irm.color_votes import DAMPING, ENVIRONMENTS, EPSILON, METHODS, SCORES
from lab.figures.style import GREY, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw a row per method and a panel per set of environments."""
    scores = pd.read_csv(results / SCORES)
    figure = new_figure(n_columns=2, width=4.2, height=2.6)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (name, title) in zip(panels, ENVIRONMENTS.items(), strict=True):
        for row, (key, method) in enumerate(METHODS.items()):
            own = scores[(scores.environments == name) & (scores.method == key)]
            sure = own.n_warnings == 0
            style = {"ls": "", "ms": 5, "color": method.color}
            places = pd.Series(row, own.index) + (own.seed - own.seed.mean()) * 0.12
            axes.plot(own.inconsistency[sure], places[sure], "o", mec="none", alpha=0.7, **style)
            axes.plot(own.inconsistency[~sure], places[~sure], "o", mfc="none", **style)
            axes.plot(own.risk_spread, places, "|", color=GREY, ms=7)
            axes.vlines(own.inconsistency.median(), row - 0.35, row + 0.35, color=method.color, lw=2)
        axes.set_xscale("log")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("inconsistency (minus the score)")
        axes.axvline(EPSILON, color=GREY, lw=0.8, ls=":")
    panels[0].text(1.1 * EPSILON, len(METHODS) - 0.45, "best", fontsize=8, color=GREY)
    panels[0].set_yticks(range(len(METHODS)), [method.label for method in METHODS.values()])
    panels[0].set_ylim(len(METHODS) - 0.4, -0.7)
    n = scores.groupby("method").seed.nunique().min()
    stamp(
        figure,
        f"a circle per seed, n = {n}, bar: median; hollow: the score warns that it may mislead; "
        "grey ticks: the difference of the risks alone;\n"
        f"epsilon {EPSILON:g}, damping {DAMPING:g}, 2,000 images per environment; "
        f"data: {data_sources(scores)}",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method: median and range over seeds of inconsistency and difference of risks."""
    scores = pd.read_csv(results / SCORES)
    rows = []
    for key, method in METHODS.items():
        row: dict[str, str | int] = {"method": method.label, "n": scores[scores.method == key].seed.nunique()}
        for name, title in ENVIRONMENTS.items():
            own = scores[(scores.environments == name) & (scores.method == key)]
            row[f"inconsistency, {title}"] = _range(own.inconsistency)
            row[f"difference of risks, {title}"] = _range(own.risk_spread)
            row[f"warned, {title}"] = f"{int((own.n_warnings > 0).sum())} of {len(own)}"
        rows.append(row)
    return pd.DataFrame(rows)


def _range(values: pd.Series) -> str:
    return f"{values.median():.3g} ({values.min():.3g} to {values.max():.3g})"
