"""The linear example: the weights and test errors that we measured, and those that the explainer prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.irm.results import EXPLAINER_ERRORS, EXPLAINER_WEIGHTS, FOLDER, ROWS, SCALES
from lab.figures.style import COLORS, GREY, LABELS, data_sources, new_figure, stamp

MARKERS = {"mean": "o", "irm_penalty": "s", "and_mask": "^", "geometric_mean": "D"}
INPUTS = ("X1", "X2", "Z1", "Z2")
BEST = {scale: 2 * float(scale) ** 2 for scale in SCALES}


def draw(results: Path) -> Figure:
    """Draw every seed: the weights on the left, the error on each test environment on the right."""
    runs = pd.read_csv(results / FOLDER / "linear_runs.csv")
    figure = new_figure(n_columns=2)
    weights, errors = figure.subplots(1, 2)
    names = [name for name in ROWS if name in set(runs.aggregator)]
    for i, name in enumerate(names):
        chosen = runs[runs.aggregator == name]
        offset = 0.18 * (i - (len(names) - 1) / 2)
        jitter = np.linspace(-0.05, 0.05, len(chosen))
        for axes, keys, published in (
            (weights, [f"weight/{j}" for j in range(4)], EXPLAINER_WEIGHTS.get(name)),
            (errors, [f"test_s{scale}/loss" for scale in SCALES], EXPLAINER_ERRORS.get(name)),
        ):
            for j, key in enumerate(keys):
                label = LABELS[name] if j == 0 and axes is weights else None
                places = j + offset + jitter
                axes.plot(places, chosen[key], MARKERS[name], color=COLORS[name], ms=3, label=label)
            if published is not None:
                places = np.arange(len(published)) + offset
                axes.plot(places, published, "_", color="black", ms=14, mew=1.5)
    weights.plot([], [], "_", color="black", ms=10, mew=1.5, label="explainer's value")
    weights.set_xticks(range(4), INPUTS)
    weights.set_ylabel("learned weight")
    weights.legend(fontsize=8, loc="upper right")
    for j, scale in enumerate(SCALES):
        label = "best without Z: 2 s²" if j == 0 else None
        errors.hlines(BEST[scale], j - 0.42, j + 0.42, color=GREY, ls=":", label=label)
    errors.set_yscale("log")
    errors.set_xticks(range(3), [f"s = {scale}" for scale in SCALES])
    errors.set_ylabel("mean squared error")
    errors.set_xlabel("test environment")
    errors.legend(fontsize=8, loc="lower right")
    n = runs.groupby("aggregator").seed.nunique().min()
    stamp(figure, f"every seed drawn, n = {n} per aggregator; selection: last; data: {data_sources(runs)}")
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per aggregator: mean and standard deviation of weights and test errors over seeds."""
    runs = pd.read_csv(results / FOLDER / "linear_runs.csv")
    rows = []
    for name in (name for name in ROWS if name in set(runs.aggregator)):
        chosen = runs[runs.aggregator == name]
        row = {"aggregator": LABELS[name], "n": str(len(chosen))}
        for j, label in enumerate(INPUTS):
            values = chosen[f"weight/{j}"]
            row[label] = f"{values.mean():.3f} ± {values.std():.3f}"
        for scale in SCALES:
            values = chosen[f"test_s{scale}/loss"]
            row[f"test error, s = {scale}"] = f"{values.mean():.4f} ± {values.std():.4f}"
        rows.append(row)
        if name in EXPLAINER_WEIGHTS:
            published = [f"{weight:.3f}" for weight in EXPLAINER_WEIGHTS[name]]
            published += [f"{error:.4f}" for error in EXPLAINER_ERRORS[name]]
            rows.append(dict(zip(row, [f"{LABELS[name]}, explainer", "1", *published], strict=True)))
    best = ["1", "1", "0", "0", *(f"{best:.4f}" for best in BEST.values())]
    rows.append(dict(zip(rows[0], ["best without Z: 2 s²", "", *best], strict=True)))
    return pd.DataFrame(rows)
