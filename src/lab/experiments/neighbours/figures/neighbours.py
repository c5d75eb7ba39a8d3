"""Every method on every experiment: results on new seeds after equal searches, and the cost of a step."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lab.experiments.neighbours.methods import (
    COST,
    DRAWN_PROBLEMS,
    FOLDER,
    LABELS,
    SEARCHED,
    read_best,
    read_unit_tests,
)
from lab.figures.pending import done_rows, progress_in_words
from lab.figures.style import (
    COLORS,
    GREY,
    data_sources,
    median_and_range,
    new_figure,
    seeds_in_row,
    stamp,
)


def draw(results: Path) -> Figure:
    """Draw a row per method and a panel per experiment.

    There is no mark where a method makes no sense or was not run.
    """
    figure = new_figure(n_columns=len(SEARCHED) + 2, width=2.3, height=5.2)
    panels = figure.subplots(1, len(SEARCHED) + 2, sharey=True)
    best = {words: done_rows(read_best(results, experiment)) for experiment, words in SEARCHED.items()}
    for axes, (words, runs) in zip(panels, best.items(), strict=False):
        axes.set(title=words, xlabel="test accuracy")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        if runs.empty:
            axes.text(0.5, 0.5, "pending", ha="center", color=GREY, transform=axes.transAxes)
            continue
        if (runs.method == "mean").any():
            plain = runs.loc[runs.method == "mean", "test/accuracy"].median()
            axes.axvline(plain, color=COLORS["mean"], lw=0.8, ls=":")
        for row, method in enumerate(LABELS):
            values = runs.loc[runs.method == method, "test/accuracy"]
            if len(values):
                seeds_in_row(axes, row, values, _color(method))
    tests = read_unit_tests(results)
    _draw_unit_tests(panels[-2], tests)
    n_seeds = " or ".join(map(str, sorted(tests.n_seeds.unique())))
    rest = ", ".join(sorted({*tests.problem} - {*DRAWN_PROBLEMS}))
    cost = pd.read_csv(results / COST).set_index("method").relative
    panels[-1].barh(range(len(LABELS)), cost[list(LABELS)], color=[_color(method) for method in LABELS])
    panels[-1].set(title="cost of a step", xlabel="x plain training")
    panels[0].set_yticks(range(len(LABELS)), list(LABELS.values()))
    panels[0].set_ylim(len(LABELS) - 0.4, -0.6)
    sources = ", ".join(data_sources(runs) for runs in best.values() if len(runs))
    open_ones = "; ".join(
        f"{words}: {progress}"
        for experiment, words in SEARCHED.items()
        if (progress := progress_in_words(results / FOLDER / f"{experiment}_runs.csv"))
    )
    stamp(
        figure,
        "dots: five seeds, bar: median, dotted: median of plain training; best of 20 trials each, by "
        "validation on Colored MNIST, by test accuracy (oracle) on spirals;\nunit tests: mean and "
        f"standard deviation over {n_seeds} data seeds, best of 20 draws by validation (the table has "
        f"problems {rest} too);\ncost: measured on the spirals with one core; the temporal AND-mask's step "
        f"has one of 32 environments;\nno mark: not run; data: {sources}, generated linear "
        f"problems{f'; {open_ones}' if open_ones else ''}",
    )
    return figure


def _color(method: str) -> str:
    return COLORS[method] if method in ("mean", "and_mask") else GREY


def _draw_unit_tests(axes: Axes, tests: pd.DataFrame) -> None:
    """Draw the errors on the upright and on the turned problem side by side."""
    for problem, (marker, off) in DRAWN_PROBLEMS.items():
        of_problem = tests[tests.problem == problem].set_index("method")
        rows = [row for row, method in enumerate(LABELS) if method in of_problem.index]
        for row in rows:
            run = of_problem.loc[list(LABELS)[row]]
            axes.errorbar(
                run["test/error"],
                row + off,
                xerr=run["test/error_std"],
                fmt=marker,
                ms=4,
                mfc="white" if off > 0 else None,
                color=_color(list(LABELS)[row]),
                label=f"{problem}" if row == rows[-1] else None,
            )
    axes.set(title="unit tests", xlabel="test error")
    axes.legend(title="problem", fontsize=8)


def _in_words(runs: pd.DataFrame) -> str:
    """Return the result of one method as text, with median and range if all its seeds are done."""
    if runs.empty:
        return ""
    return median_and_range(runs["test/accuracy"]) if len(done_rows(runs)) == len(runs) else "pending"


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per method; a cell is empty where the method makes no sense or was not run."""
    best = {words: read_best(results, experiment) for experiment, words in SEARCHED.items()}
    tests = read_unit_tests(results)
    cost = pd.read_csv(results / COST).set_index("method").relative
    rows = []
    for method, label in LABELS.items():
        row = {"method": label}
        for words, runs in best.items():
            row[words] = _in_words(runs[runs.method == method])
        for problem in sorted(tests.problem.unique()):
            of_method = tests[(tests.method == method) & (tests.problem == problem)]
            row[f"unit test {problem}"] = "".join(
                f"{run['test/error']:.2f} ± {run['test/error_std']:.2f} ({run.n_seeds})"
                for _, run in of_method.iterrows()
            )
        row["step, x plain"] = f"{cost[method]:.2f}"
        rows.append(row)
    return pd.DataFrame(rows)
