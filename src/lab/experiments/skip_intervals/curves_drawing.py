"""Drawings of the accuracy on held-out trajectories, over training and over the cost of a rollout."""

from __future__ import annotations

from itertools import accumulate, zip_longest
from math import ceil
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from lab.experiments.skip_intervals.results import (
    CALLS,
    DOMAINS,
    METHODS,
    SCORE,
    bar,
    best_shortcut,
    curves,
    made,
    methods_in,
    runs,
)
from lab.figures.style import as_percent, data_sources, legend_entries, new_figure, stamp

COLORS = {
    "adaptive": "#0072B2",
    "adaptive_without_exploration": "#56B4E9",
    "fixed_1": "#D55E00",
    "fixed_2": "#E69F00",
    "fixed_3": "#CC79A7",
    "fixed_4": "#009E73",
    "fixed_5": "#999933",
}
MARKERS = {
    "adaptive": "o",
    "adaptive_without_exploration": "s",
    "fixed_1": "^",
    "fixed_2": "v",
    "fixed_3": "D",
    "fixed_4": "P",
    "fixed_5": "X",
}
STYLES = {"adaptive_without_exploration": "--", "fixed_2": "--", "fixed_3": ":", "fixed_5": "-."}
ACCURACY = "validation/accuracy"
COLUMNS = 3


def draw_over_epochs(results: Path) -> Figure:
    """Draw rows of panels for each domain that has runs: one panel of all methods, then one per method."""
    domains = made(results)
    rows = [ceil((1 + len(methods_in(runs(results, domain)))) / COLUMNS) for domain in domains]
    figure = new_figure(n_columns=COLUMNS, n_rows=sum(rows), width=3.2, height=2.5)
    panels = figure.subplots(sum(rows), COLUMNS, squeeze=False, sharey=True)
    for domain, end, n_rows in zip(domains, accumulate(rows), rows, strict=True):
        table, training = runs(results, domain), curves(results, domain)
        together, *single = panels[end - n_rows : end].flat
        _draw_together(together, training, "epoch")
        n = seeds_of(table)
        together.set_title(f"{DOMAINS[domain]}, n = {n}: mean, quartiles", fontsize=9)
        for axes, method in zip_longest(single, methods_in(training)):
            if method is None:
                axes.set_visible(False)
                continue
            _draw_seeds(axes, training[training.method == method], method)
        for axes in (together, *single):
            _draw_bar(axes, table)
            axes.set_xlabel("epoch")
            as_percent(axes)
    for axes in panels[:, 0]:
        axes.set_ylabel("validation accuracy (hard)", fontsize=8)
    _finish(figure, results, "single panels: every seed (thin) and their mean")
    return figure


def draw_over_evaluations(results: Path) -> Figure:
    """Draw two panels per domain: accuracy over model evaluations in training, and in a rollout."""
    domains = made(results)
    figure = new_figure(n_columns=2, n_rows=len(domains), width=4.6, height=3.4)
    panels = figure.subplots(len(domains), 2, squeeze=False, sharey=True)
    for (left, right), domain in zip(panels, domains, strict=True):
        table, training = runs(results, domain), curves(results, domain)
        _draw_together(left, training, "train/model_evaluations")
        left.set_xlabel("model evaluations in training")
        left.xaxis.set_major_formatter(EngFormatter(sep=""))
        left.set_ylabel("validation accuracy (hard)")
        for method in methods_in(table):
            own = table[table.method == method]
            right.scatter(
                own[CALLS], own[SCORE], color=COLORS[method], marker=MARKERS[method], s=22, alpha=0.8
            )
        right.set_xlim(left=0, right=1.05 * table[CALLS].max())
        right.set_xlabel("model evaluations per rollout")
        for axes in (left, right):
            axes.set_title(f"{DOMAINS[domain]}, n = {seeds_of(table)} seeds of each method", fontsize=9)
            _draw_bar(axes, table)
            as_percent(axes)
    words = (
        "left: mean and interquartile range; it is figure 2.9 in another unit where all methods have windows "
        "of equal numbers of calls;\nright: each seed, mean of its last five evaluations"
    )
    _finish(figure, results, words)
    return figure


def _draw_together(axes: Axes, training: pd.DataFrame, x: str) -> None:
    """Draw all methods over the column ``x``; each epoch stands at the mean of ``x`` over the seeds."""
    for method in methods_in(training):
        own = training[training.method == method]
        seeds = own.pivot(index="epoch", columns="seed", values=ACCURACY)
        places = own.groupby("epoch")[x].mean()
        color, style = COLORS[method], STYLES.get(method, "-")
        axes.plot(places, seeds.mean(axis=1), style, color=color, lw=1.8, label=METHODS[method])
        lower, upper = (seeds.quantile(q, axis=1) for q in (0.25, 0.75))
        axes.fill_between(places, lower, upper, color=color, alpha=0.15, lw=0)


def _draw_seeds(axes: Axes, training: pd.DataFrame, method: str) -> None:
    seeds = training.pivot(index="epoch", columns="seed", values=ACCURACY)
    axes.plot(seeds.index, seeds, color=COLORS[method], lw=0.6, alpha=0.7)
    axes.plot(seeds.index, seeds.mean(axis=1), STYLES.get(method, "-"), color=COLORS[method], lw=1.8)
    axes.set_title(METHODS[method], fontsize=9)


def _draw_bar(axes: Axes, table: pd.DataFrame) -> None:
    axes.axhline(best_shortcut(table)[1], color="black", lw=0.8, ls=":", label="best shortcut")
    axes.axhline(bar(table), color="black", lw=0.8, ls="-.", label="ten points above the best shortcut")


def _finish(figure: Figure, results: Path, words: str) -> None:
    found, names = legend_entries(figure), list(METHODS.values())
    labels = sorted(found, key=lambda label: names.index(label) if label in names else len(names))
    handles = [found[label] for label in labels]
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)
    tables = [runs(results, domain) for domain in made(results)]
    stamp(figure, "\n".join([words, *map(_source, tables)]))


def seeds_of(table: pd.DataFrame) -> str:
    """Return how many seeds each method has, such as ``5`` or ``3 or 5``."""
    return " or ".join(map(str, sorted(set(table.groupby("method").seed.nunique()))))


def _source(table: pd.DataFrame) -> str:
    """Return the source of the data, and whether all seeds share it."""
    if len(set(table.data_source)) == 1:
        return f"{data_sources(table)};\none draw for all seeds"
    return f"{table.data_source.iloc[0].partition(' (shortcuts')[0]}; a draw for each seed"
