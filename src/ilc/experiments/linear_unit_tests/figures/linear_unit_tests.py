"""Linear unit tests, three environments and 5 + 5 dimensions: our test errors beside the published ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ilc.experiments.linear_unit_tests.results import LABELS, beside_published
from ilc.figures.style import COLORS, GREY, new_figure, stamp


def draw(results: Path) -> Figure:
    """A panel per problem, a row per method; bars are deviations over the data seeds, not of the mean."""
    table = _cell(results)
    problems = list(table.problem.unique())
    figure = new_figure(n_columns=len(problems), width=4.0, height=3.0)
    panels = figure.subplots(1, len(problems), sharey=True, squeeze=False)[0]
    rows = {method: place for place, method in enumerate(LABELS)}
    for axes, problem in zip(panels, problems, strict=True):
        chosen = table[table.problem == problem]
        places = chosen.method.map(rows).astype(float)
        axes.errorbar(
            chosen["test/error"],
            places - 0.13,
            xerr=chosen["test/error_std"],
            fmt="o",
            color=COLORS["and_mask"],
            label="ours",
        )
        axes.errorbar(
            chosen.published,
            places + 0.13,
            xerr=chosen.published_std,
            fmt="D",
            color=GREY,
            mfc="white",
            label="published",
        )
        axes.set_title(f"problem {problem}", fontsize=10)
        axes.set_xlabel("test error")
    panels[0].set_yticks(list(rows.values()), list(LABELS.values()))
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    panels[0].legend(fontsize=8, loc="lower right")
    n = ", ".join(map(str, sorted(table.n_seeds.unique())))
    stamp(
        figure,
        f"mark: mean, bar: standard deviation over n = {n} data seeds; best of 20 draws by validation error",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """A row per problem and method."""
    rows = []
    for _, run in _cell(results).iterrows():
        known = pd.notna(run.published)
        rows.append(
            {
                "problem": run.problem,
                "method": LABELS[run.method],
                "test error": f"{run['test/error']:.3f} ± {run['test/error_std']:.3f}",
                "published": f"{run.published:.3f} ± {run.published_std:.3f}" if known else "",
                "apart, in published deviations": f"{abs(run.apart):.4f}" if known else "",
                "chosen learning rate": f"{run['chosen/lr']:.2g}",
                "theirs": f"{run.chosen_lr:.2g}" if known else "",
                "n": str(run.n_seeds),
            }
        )
    return pd.DataFrame(rows)


def _cell(results: Path) -> pd.DataFrame:
    table = beside_published(results)
    chosen: pd.DataFrame = table[(table.n_environments == 3) & (table.spurious_dimensions == 5)]
    return chosen
