"""How much networks follow the colour, by the colour noise of the second environment."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.irm.color_votes import (
    FIRST_NOISE,
    LABEL_NOISE,
    METHODS,
    SECOND_NOISES,
    STEPS,
    SWEPT,
    TEST_NOISE,
    read_votes,
)
from lab.figures.style import GREY, as_percent, data_sources, median_and_range, new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw the votes before training, the reliance on the colour, and the accuracy on turned colours."""
    votes = read_votes(results)
    figure = new_figure(n_columns=3, width=3.6, height=3.0)
    first, second, third = figure.subplots(1, 3, sharex=True)
    start = votes[(votes.step == 0) & (votes.method == "mean")]
    _line(first, start, "kept_color", "colour", "#882255", "-")
    _line(first, start, "kept_shape", "shape", "#117733", "--")
    first.set_title("before training: components\nin which the signs agree", fontsize=10)
    end = votes[votes.step == STEPS]
    for name in SWEPT:
        own, method = end[end.method == name], METHODS[name]
        _line(second, own, "follows_color", method.label, method.color, method.style)
        _line(third, own, "test/accuracy", method.label, method.color, method.style)
    second.set_title("after training: labels that\nchange with the colour", fontsize=10)
    third.set_title(f"after training: test accuracy,\ncolour noise {TEST_NOISE:g}", fontsize=10)
    third.axhline(1 - LABEL_NOISE, color=GREY, lw=0.8, ls=":")
    third.text(SECOND_NOISES[0], 1 - LABEL_NOISE + 0.02, "digit alone", fontsize=8, color=GREY)
    for axes in (first, second, third):
        axes.axvline(0.5, color=GREY, lw=0.8)
        axes.set_xlabel(f"colour noise of the second environment\n(of the first: {FIRST_NOISE:g})")
        axes.set_xticks(SECOND_NOISES)
        as_percent(axes)
    first.legend(fontsize=8, loc="center left")
    handles, labels = second.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    n = votes.groupby(["second_noise", "method"]).seed.nunique().min()
    stamp(
        figure,
        f"dots: n = {n} seeds, line: median; left of the vertical line the colour says the same in both "
        "environments, right of it the opposite;\n"
        f"perceptron 2 x 32, {STEPS} full-batch steps, last step; data: {data_sources(votes)}",
    )
    return figure


def _line(axes: Axes, rows: pd.DataFrame, key: str, label: str, color: str, style: str) -> None:
    median = rows.groupby("second_noise")[key].median()
    axes.plot(rows.second_noise, rows[key], "o", ms=3, color=color, alpha=0.4, mec="none")
    axes.plot(median.index, median, style, color=color, lw=2, label=label)


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method and colour noise: median and range over seeds after the last step, in %."""
    votes = read_votes(results)
    end = votes[votes.step == STEPS]
    rows = []
    for noise in SECOND_NOISES:
        for name, method in METHODS.items():
            own = end[(end.second_noise == noise) & (end.method == name)]
            if own.empty:
                continue
            rows.append(
                {
                    "colour noise": f"{FIRST_NOISE:g}, {noise:g}",
                    "method": method.label,
                    "n": len(own),
                    "training accuracy": median_and_range(own["train/accuracy"]),
                    "test accuracy": median_and_range(own["test/accuracy"]),
                    "labels that change with the colour": median_and_range(own.follows_color),
                }
            )
    return pd.DataFrame(rows)
