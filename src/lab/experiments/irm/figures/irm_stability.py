"""How often IRM works: the last accuracies of every seed, by the schedule of the penalty's weight."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lab.experiments.irm.results import (
    OUTCOME_COLORS,
    OUTCOMES,
    PUBLISHED,
    SCHEDULES,
    STABILITY,
    pending,
    stability_runs,
)
from lab.figures.pending import pending_figure
from lab.figures.style import GREY, data_sources, median_and_range, new_figure, stamp

N_COLUMNS = 5
MARKERS = {"success": "o", "collapsed": "x", "plain": "s", "between": "^"}


def draw(results: Path) -> Figure:
    """Draw a panel per schedule. In the shaded corner, a run is above the bar of the reimplementation."""
    runs = stability_runs(results)
    if runs.empty:
        return pending_figure(pending(results, STABILITY))
    schedules = [name for name in SCHEDULES if name in set(runs.schedule)]
    n_columns = min(N_COLUMNS, len(schedules))
    n_rows = math.ceil(len(schedules) / n_columns)
    # While runs are pending there are few panels, and the legend needs its width.
    width, height = max(2.1, 9.5 / n_columns), max(2.5, 4.0 / n_rows)
    figure = new_figure(n_columns=n_columns, n_rows=n_rows, width=width, height=height)
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for axes in panels[len(schedules) :]:
        axes.remove()
    left = min(0.4, runs["train/accuracy"].min() - 0.05)
    for axes, schedule in zip(panels, schedules, strict=False):
        axes.add_patch(Rectangle((0.7, 0.6), 0.3, 0.4, color=OUTCOME_COLORS["success"], alpha=0.12, lw=0))
        for kind in OUTCOMES:
            chosen = runs[(runs.schedule == schedule) & (runs.outcome == kind)]
            style = {"marker": MARKERS[kind], "color": OUTCOME_COLORS[kind], "ls": "", "ms": 5}
            axes.plot(chosen["train/accuracy"], chosen["test/accuracy"], alpha=0.8, **style)
        axes.plot(*PUBLISHED["irm_penalty"], "*", color=GREY, ms=9)
        axes.plot(*PUBLISHED["mean"], "P", color=GREY, ms=7)
        n = int((runs.schedule == schedule).sum())
        axes.set_title(SCHEDULES[schedule].replace(": ", ":\n") + f"\nn = {n}", fontsize=9)
        axes.set_xlabel("train accuracy")
        axes.tick_params(labelbottom=True)
        axes.set_xlim(left, 1.0)
        axes.set_xticks([0.5, 0.7, 0.9])
        axes.set_ylim(0.0, 0.85)
    for axes in grid[:, 0]:
        axes.set_ylabel("test accuracy")
    handles = [
        panels[0].plot([], [], MARKERS[kind], color=OUTCOME_COLORS[kind], ms=5)[0] for kind in OUTCOMES
    ]
    handles += [panels[0].plot([], [], mark, color=GREY, ms=7)[0] for mark in ("*", "P")]
    labels = [*OUTCOMES.values(), "IRM authors' IRM", "IRM authors' plain training"]
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    about = (
        "a mark per seed at its last evaluation; circle: above the bar (shaded) at some evaluation, where "
        "the source stops, by test data;\n20,000 images of each environment, batches of 64 of each, 30 epochs"
    )
    sources = "; ".join(filter(None, [data_sources(runs), pending(results, STABILITY)]))
    stamp(figure, f"{about}; data: {sources}")
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per schedule: shares of the outcomes, accuracies, and the risk and penalty in training.

    Risk and penalty are known without test data.
    """
    runs = stability_runs(results)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, STABILITY)}])
    rows = []
    for schedule in (name for name in SCHEDULES if name in set(runs.schedule)):
        chosen = runs[runs.schedule == schedule]
        row = {"schedule": SCHEDULES[schedule], "n": str(len(chosen))}
        for kind, label in OUTCOMES.items():
            row[label] = f"{100 * (chosen.outcome == kind).mean():.0f} %"
        row["train %"] = median_and_range(chosen["train/accuracy"])
        row["test %"] = median_and_range(chosen["test/accuracy"])
        row["risk"] = f"{chosen['train/loss'].median():.3f}"
        row["penalty"] = f"{chosen['train/penalty'].median():.1e}"
        rows.append(row)
    published = {
        "schedule": "IRM authors (step, 25,000 images per environment; 10 seeds, mean)",
        "train %": f"{100 * PUBLISHED['irm_penalty'][0]:.1f}",
        "test %": f"{100 * PUBLISHED['irm_penalty'][1]:.1f}",
    }
    return pd.DataFrame([*rows, published]).fillna("")
