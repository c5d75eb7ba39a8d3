"""How many random labels are fitted with and without the mask, by number of images per parameter."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from lab.experiments.memorisation.drawing import mark_chance
from lab.experiments.memorisation.results import (
    IMAGES,
    RATE_FALLS,
    THRESHOLD,
    about,
    curves_of,
    pending,
    runs_of,
    seeds_per,
)
from lab.figures.pending import pending_figure
from lab.figures.style import as_percent, new_figure, stamp

NAME = "number_of_images"
WIDTH = "model.width"
EQUAL_EPOCHS = 40
COLORS = {4: "#E69F00", 8: "#0072B2", 16: "#009E73", 32: "#CC79A7"}
MARKERS = {4: "v", 8: "o", 16: "s", 32: "^"}
STILL_RISING = 0.02
"""A run counts as still rising if it gained this much training accuracy at the last learning rate."""


def draw(results: Path) -> Figure:
    """Draw one row for equal epochs and one for equal steps, as far as there are runs.

    The left panels have the number of images on the x axis, the right ones the images per parameter.
    """
    runs = runs_of(results, NAME)
    if runs.empty:
        return pending_figure(pending(results, NAME))
    runs = runs.assign(rising=_rise(curves_of(results, NAME)).reindex(runs["run"]).to_numpy())
    kinds = {
        f"{EQUAL_EPOCHS} epochs each": runs[runs.epoch == EQUAL_EPOCHS],
        "some 12,000 steps each": runs[runs.epoch != EQUAL_EPOCHS],
    }
    kinds = {words: some for words, some in kinds.items() if not some.empty}
    figure = new_figure(n_columns=2, n_rows=len(kinds), width=4.2, height=2.9)
    panels = figure.subplots(len(kinds), 2, sharex="col", sharey=True, squeeze=False)
    for row, (words, some) in zip(panels, kinds.items(), strict=True):
        _draw(row[0], some, some[IMAGES])
        _draw(row[1], some, some[IMAGES] / some.parameters)
        row[0].set_ylabel(f"random labels fitted\n{words}")
    panels[-1][0].set_xlabel("training images")
    panels[-1][1].set_xlabel("training images per parameter")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    n = seeds_per(runs, [THRESHOLD, IMAGES, WIDTH, "epoch"])
    risen = (runs.rising >= STILL_RISING).any()
    which = "the largest full and hollow marks" if risen else "no run"
    text = (
        f"marks: runs, lines: medians, {n}; full: mask at 0.2, hollow: plain training;\n"
        f"{which} gained two points or more at the last learning rate"
    )
    # The axes show the numbers of images, and a source for each number would not fit on the line.
    one_source = runs.assign(data_source=runs.data_source.str.partition(", ")[0])
    stamp(figure, about(one_source, text, pending(results, NAME)))
    return figure


def _draw(axes: Axes, runs: pd.DataFrame, places: pd.Series) -> None:
    """Draw the final training accuracy against ``places`` on a logarithmic scale, with a colour per width."""
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    as_percent(axes)
    mark_chance(axes)
    for width, color in COLORS.items():
        for threshold in sorted(runs[THRESHOLD].unique()):
            own = runs[(runs[WIDTH] == width) & (runs[THRESHOLD] == threshold)]
            if own.empty:
                continue
            masked = threshold > 0
            at = places.loc[own.index]
            medians = own.groupby(at)["train/accuracy"].median()
            label = f"width {width}" if masked else None
            axes.plot(medians.index, medians, "-" if masked else ":", color=color, lw=1.2, label=label)
            # Where both fit all labels, a smaller full mark stands inside a hollow one, whatever the width.
            sizes, order = ((4, 7), 3) if masked else ((6.5, 9.5), 2.5)
            for rising, size in zip((False, True), sizes, strict=True):
                some = (own.rising >= STILL_RISING) == rising
                axes.plot(
                    at[some],
                    own["train/accuracy"][some],
                    MARKERS[width],
                    color=color,
                    mfc=color if masked else "white",
                    ms=size,
                    zorder=order,
                )


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per width, number of images and budget, with final accuracies in per cent."""
    runs = runs_of(results, NAME)
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, NAME)}])
    runs = runs.assign(rising=_rise(curves_of(results, NAME)).reindex(runs["run"]).to_numpy())
    rows = []
    for (width, images, epochs), own in runs.groupby([WIDTH, IMAGES, "epoch"]):
        row = {"width": width, "parameters": own.parameters.iloc[0], "images": images, "epochs": epochs}
        row["images per parameter"] = f"{images / row['parameters']:.3f}"
        for threshold, name in ((0.2, "mask at 0.2"), (0.0, "plain training")):
            some = own[own[THRESHOLD] == threshold].sort_values("seed")
            row[name] = ", ".join(f"{100 * value:.1f}" for value in some["train/accuracy"])
            row[f"{name}: gain at the last learning rate"] = ", ".join(
                f"{100 * value:.1f}" for value in some.rising
            )
        rows.append(row)
    return pd.DataFrame(rows)


def _rise(curves: pd.DataFrame) -> pd.Series:
    """Return the training accuracy that each run gained at the last learning rate."""

    def of(own: pd.DataFrame) -> float:
        ordered = own.set_index("epoch")["train/accuracy"].sort_index()
        before = ordered[ordered.index <= RATE_FALLS[-1] * ordered.index[-1]]
        return float(ordered.iloc[-1] - before.iloc[-1])

    return pd.Series({run: of(own) for run, own in curves.groupby("run")})
