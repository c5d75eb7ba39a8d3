"""Linear unit tests: our and the published errors by number of environments and of spurious dimensions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lab.experiments.linear_unit_tests.results import LABELS, beside_published
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
    """Draw a row per problem and a column per sweep.

    The lines show our means, the open marks show the published means.
    """
    table = beside_published(results)
    table = table[table.published.notna()]
    problems = sorted(table[table.n_environments != USUAL["n_environments"]].problem.unique())
    figure = new_figure(n_columns=len(SWEEPS), n_rows=len(problems), width=4.4, height=2.8)
    panels = figure.subplots(len(problems), len(SWEEPS), squeeze=False, sharey="row")
    for row, problem in zip(panels, problems, strict=True):
        for axes, (swept, words) in zip(row, SWEEPS.items(), strict=True):
            _panel(axes, table[table.problem == problem], swept)
            axes.set_title(f"problem {problem}", fontsize=10)
            axes.set_xlabel(words)
        row[0].set_ylabel("test error")
    first = panels[0, 0].get_legend_handles_labels()
    published = Line2D([], [], color="black", marker="o", mfc="none", ls="", label="published")
    figure.legend(
        [*first[0], published], [*first[1], "published (open)"], loc="outside right center", fontsize=8
    )
    n = ", ".join(map(str, sorted(table.n_seeds.unique())))
    stamp(
        figure,
        f"means over n = {n} data seeds, no interval; best of 20 draws by validation error;\n"
        "3 environments and 5 + 5 dimensions, unless the axis gives another number; generated data",
    )
    return figure


def _panel(axes: Axes, table: pd.DataFrame, swept: str) -> None:
    (fixed,) = (name for name in SWEEPS if name != swept)
    chosen = table[table[fixed] == USUAL[fixed]].sort_values(swept)
    for method, (color, mark) in LOOKS.items():
        line = chosen[chosen.method == method]
        axes.plot(line[swept], line["test/error"], "-", color=color, lw=1.4, label=LABELS[method])
        axes.plot(line[swept], line.published, mark, color=color, mfc="none", ms=6)
    axes.set_xticks(sorted(chosen[swept].unique()))
