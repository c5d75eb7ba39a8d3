"""Scores of trained solutions against how well they generalise."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.theory.solutions import DAMPING, EPSILON, reported, solutions
from ilc.figures.style import COLORS, GREY, LABELS, new_figure, stamp

_MARKERS = {"mean": "o", "and_mask": "s", "geometric_mean": "D", "irm_penalty": "^"}


def draw(results: Path) -> Figure:
    """One column per problem; worst pair above, median pair below; every seed a point."""
    table = reported(solutions(results))
    problems = list(table.problem.unique())
    figure = new_figure(n_columns=len(problems), n_rows=2, width=3.0, height=2.9)
    panels = figure.subplots(2, len(problems), sharex="col", squeeze=False)
    for column, problem in enumerate(problems):
        rows = table[table.problem == problem]
        for axes, measure in zip(panels[:, column], ("worst", "median"), strict=True):
            for (name, threshold), group in rows.groupby(["aggregator", "agreement_threshold"], dropna=False):
                is_low = (
                    name == "and_mask"
                    and threshold < rows[rows.aggregator == "and_mask"].agreement_threshold.max()
                )
                axes.plot(
                    group.test,
                    group[measure],
                    _MARKERS[str(name)],
                    color=COLORS[str(name)],
                    ms=5,
                    alpha=0.75,
                    mfc="none" if is_low else None,
                )
            axes.set_yscale("log")
            axes.axhline(1, color=GREY, lw=0.8, ls=":")
        test_name = rows.test_name.iloc[0]
        is_accuracy = test_name == "test accuracy"
        if is_accuracy:
            panels[1, column].set_xlim(0.4, 1.03)
        else:
            panels[1, column].invert_xaxis()
        panels[1, column].set_xlabel(f"{test_name}, right is better")
        panels[0, column].set_title(f"{problem}\n{rows.seed.nunique()} seeds", fontsize=9)
    panels[0, 0].set_ylabel("inconsistency / ε\n(worst pair; low is better)")
    panels[1, 0].set_ylabel("median pair's gap / ε")
    for name, marker in _MARKERS.items():
        label = LABELS[name] + (", highest threshold" if name == "and_mask" else "")
        panels[0, 0].plot([], [], marker, color=COLORS[name], label=label)
    panels[0, 0].plot([], [], "s", color=COLORS["and_mask"], mfc="none", label="AND-mask, lower thresholds")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8)
    stamp(
        figure,
        f"every seed drawn; ε = {EPSILON:g}, damping {DAMPING:g} of the largest curvature "
        f"(limit {1 + 1 / DAMPING:,.0f} ε without gradients); dotted: ε, the least possible; "
        "second-order scores; synthetic data",
    )
    return figure
