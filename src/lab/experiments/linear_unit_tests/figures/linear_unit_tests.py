"""Linear unit tests with three environments and 5 + 5 dimensions: our and the published test errors."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.linear_unit_tests.results import LABELS, MOST, beside_published
from lab.figures.style import COLORS, GREY, new_figure, stamp

RED = COLORS["mean"]


def draw(results: Path) -> Figure:
    """Draw a column per problem, with a row for upright and a row for turned inputs.

    The bars are standard deviations over data seeds, not standard errors of the mean.
    """
    table = _cell(results)
    numbers, turned = sorted({name[0] for name in table.problem}), ("", "s")
    figure = new_figure(n_columns=len(numbers), n_rows=2, width=3.1, height=2.7)
    panels = figure.subplots(2, len(numbers), sharey=True, squeeze=False)
    for row, suffix in zip(panels, turned, strict=True):
        for axes, number in zip(row, numbers, strict=True):
            _panel(axes, table[table.problem == number + suffix])
            axes.set_title(f"problem {number}{suffix}", fontsize=10)
    for axes in panels[-1]:
        axes.set_xlabel("test error")
    panels[0, 0].set_yticks(range(len(LABELS)), list(LABELS.values()))
    panels[0, 0].set_ylim(len(LABELS) - 0.5, -0.5)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), fontsize=9, ncols=2, loc="outside upper center")
    n = ", ".join(map(str, sorted(table.n_seeds.unique())))
    stamp(
        figure,
        f"mark: mean, bar: standard deviation over n = {n} data seeds, cut at 0; best of 20 draws by "
        "validation;\n"
        f"ring: more than {MOST:g} standard errors from the published mean; "
        "three environments, 5 + 5 dimensions; the problems with an s have turned inputs; generated data",
    )
    return figure


def _panel(axes: Axes, runs: pd.DataFrame) -> None:
    places = runs.method.map({method: place for place, method in enumerate(LABELS)}).astype(float)
    for ours, off, values, deviations in (
        (True, -0.13, runs["test/error"], runs["test/error_std"]),
        (False, 0.13, runs.published, runs.published_std),
    ):
        axes.errorbar(
            values,
            places + off,
            xerr=[deviations.clip(upper=values), deviations],  # no error is below 0
            fmt="o" if ours else "D",
            color=COLORS["and_mask"] if ours else GREY,
            mfc=None if ours else "white",
            label="ours" if ours else "published",
        )
    for _, run in runs[runs.apart.abs() > MOST].iterrows():
        place = float(list(LABELS).index(run.method))
        axes.plot(run["test/error"], place - 0.13, "o", mfc="none", mec=RED, mew=1.8, ms=13)
        words = f"{abs(run.apart):.1f} standard errors apart"
        axes.text(run["test/error"], place + 2.1, words, va="center", fontsize=9, color=RED)
        axes.plot([run["test/error"]] * 2, [place + 0.35, place + 1.8], color=RED, lw=1)


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per problem and method."""
    rows = []
    for _, run in _cell(results).iterrows():
        known = pd.notna(run.published)
        rows.append(
            {
                "problem": run.problem,
                "method": LABELS[run.method],
                "test error": f"{run['test/error']:.3f} ± {run['test/error_std']:.3f}",
                "published": f"{run.published:.3f} ± {run.published_std:.3f}" if known else "",
                "difference, in standard errors": f"{abs(run.apart):.1f}" if known else "",
                "chosen learning rate": f"{run['chosen/lr']:.2g}",
                "published learning rate": f"{run.chosen_lr:.2g}" if known else "",
                "n": str(run.n_seeds),
            }
        )
    return pd.DataFrame(rows)


def _cell(results: Path) -> pd.DataFrame:
    table = beside_published(results)
    chosen: pd.DataFrame = table[(table.n_environments == 3) & (table.spurious_dimensions == 5)]
    return chosen
