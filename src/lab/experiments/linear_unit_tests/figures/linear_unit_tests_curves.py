"""Linear unit tests: our and the published errors by number of environments and of spurious dimensions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lab.experiments.linear_unit_tests.results import LABELS, beside_published, published_errors
from lab.figures.style import COLORS, GREY, new_figure, stamp

LOOKS = {
    "plain": (COLORS["mean"], "o"),
    "irm_penalty": (COLORS["irm_penalty"], "^"),
    "iga": (COLORS["geometric_mean"], "D"),
    "and_mask_published": (COLORS["and_mask"], "s"),
    "oracle": (GREY, "v"),
}
SWEEPS = {"n_environments": "training environments", "spurious_dimensions": "spurious dimensions"}
USUAL = {"n_environments": 3, "spurious_dimensions": 5}


def draw(results: Path) -> Figure:
    """Draw a row per problem whose sweeps were run whole, and a column per sweep.

    Filled marks and lines show our means, open marks show the published means.
    """
    table = _published(results)
    problems = [problem for problem in sorted(table.problem.unique()) if _is_whole(table, problem)]
    figure = new_figure(n_columns=len(SWEEPS), n_rows=len(problems), width=4.4, height=2.8)
    panels = figure.subplots(len(problems), len(SWEEPS), squeeze=False, sharey="row")
    for row, problem in zip(panels, problems, strict=True):
        for axes, (swept, words) in zip(row, SWEEPS.items(), strict=True):
            _panel(axes, table[table.problem == problem], swept)
            axes.set_title(f"problem {problem}", fontsize=10)
            axes.set_xlabel(words)
        row[0].set_ylabel("test error")
    lines, labels = panels[0, 0].get_legend_handles_labels()
    published = Line2D([], [], color="black", marker="o", mfc="none", ms=8, ls="")
    figure.legend(
        [*lines, published],
        [*(f"{label}, ours" for label in labels), "published (open)"],
        loc="outside upper center",
        ncols=3,
        fontsize=9,
    )
    n = ", ".join(map(str, sorted(table.n_seeds.unique())))
    stamp(
        figure,
        f"means over n = {n} data seeds, no interval; best of 20 draws by validation error;\n3 environments "
        "and 5 + 5 dimensions, unless the axis gives another number; problems whose sweeps were run whole; "
        "generated data",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per error of a sweep that was not run whole, beside the published one."""
    table = _published(results)
    usual = (table.n_environments == USUAL["n_environments"]) & (
        table.spurious_dimensions == USUAL["spurious_dimensions"]
    )
    whole = table.problem.map({problem: _is_whole(table, problem) for problem in table.problem.unique()})
    return pd.DataFrame(
        [
            {
                "problem": run.problem,
                "environments": str(run.n_environments),
                "method": LABELS[run.method],
                "test error": f"{run['test/error']:.3f} ± {run['test/error_std']:.3f}",
                "published": f"{run.published:.3f} ± {run.published_std:.3f}",
                "difference, in standard errors": f"{abs(run.apart):.1f}",
                "n": str(run.n_seeds),
            }
            for _, run in table[~usual & ~whole].iterrows()
        ]
    )


def _published(results: Path) -> pd.DataFrame:
    table = beside_published(results)
    published: pd.DataFrame = table[table.published.notna()]
    return published


def _is_whole(table: pd.DataFrame, problem: str) -> bool:
    """Return whether all published errors of a problem were computed here too."""
    return len(table[table.problem == problem]) == (published_errors().problem == problem).sum()


def _panel(axes: Axes, table: pd.DataFrame, swept: str) -> None:
    (fixed,) = (name for name in SWEEPS if name != swept)
    chosen = table[table[fixed] == USUAL[fixed]].sort_values(swept)
    for method, (color, mark) in LOOKS.items():
        line = chosen[chosen.method == method]
        axes.plot(
            line[swept],
            line["test/error"],
            "-",
            marker=mark,
            ms=3.5,
            color=color,
            lw=1.4,
            label=LABELS[method],
        )
        axes.plot(line[swept], line.published, mark, color=color, mfc="none", ms=8)
    axes.set_xticks(sorted(chosen[swept].unique()))
