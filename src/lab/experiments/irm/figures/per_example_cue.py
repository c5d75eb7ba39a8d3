"""Whether a mask over examples ignores a colour that agrees with most of the labels, by threshold."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.irm.cue import (
    AGREES,
    COWS,
    LABEL_NOISE,
    PASSED_BY_ARITHMETIC,
    PROBLEMS,
    THRESHOLD,
    digit_alone,
    read_cue,
)
from lab.experiments.irm.results import pending
from lab.figures.pending import pending_figure
from lab.figures.style import COLORS, GREY, as_percent, data_sources, new_figure, stamp

LINES = {
    "train/accuracy": ("training", GREY, "--", "o"),
    "validation/accuracy": ("colour is right in 50 %", COLORS["and_mask"], "-", "s"),
    "test/accuracy": ("colour is wrong in 90 %", COLORS["mean"], "-", "^"),
}


def draw(results: Path) -> Figure:
    """Draw a panel per problem that was run, with every seed and the median of the seeds."""
    runs = read_cue(results)
    if runs.empty:
        return pending_figure(pending(results, "cue"))
    problems = {noise: title for noise, title in PROBLEMS.items() if noise in set(runs[LABEL_NOISE])}
    figure = new_figure(n_columns=len(problems), width=4.9)
    end = runs[THRESHOLD].max()
    panels = figure.subplots(1, len(problems), sharey=True, squeeze=False)[0]
    for axes, (noise, title) in zip(panels, problems.items(), strict=True):
        chosen = runs[runs[LABEL_NOISE] == noise]
        for key, (label, color, style, marker) in LINES.items():
            axes.plot(chosen[THRESHOLD], chosen[key], marker, color=color, ms=3, alpha=0.4, mec="none")
            median = chosen.groupby(THRESHOLD)[key].median()
            axes.plot(median, style, color=color, lw=1.8, marker=marker, ms=5, label=label)
        axes.axhline(digit_alone(noise), color=GREY, lw=0.8, ls=":")
        axes.text(
            end, digit_alone(noise) - 0.015, "digit alone", fontsize=8, color=GREY, ha="right", va="top"
        )
        axes.axhline(AGREES["test"], color=GREY, lw=0.8, ls=":")
        axes.text(
            end, AGREES["test"] - 0.015, "colour alone, test", fontsize=8, color=GREY, ha="right", va="top"
        )
        if noise == COWS:
            axes.axvspan(0, PASSED_BY_ARITHMETIC, color=GREY, alpha=0.08, lw=0)
            axes.text(0.01, 0.07, "an 80 % cue always passes here", fontsize=8, color=GREY, va="top")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("agreement threshold over examples")
        as_percent(axes)
    figure.axes[0].set_ylabel("accuracy")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    n = runs.groupby([LABEL_NOISE, THRESHOLD]).seed.nunique().min()
    sources = "; ".join(filter(None, [data_sources(runs), pending(results, "cue")]))
    stamp(
        figure,
        f"n = {n} seeds per point, all drawn, line: median;\nevery example of a batch of "
        f"{runs['dataset.batch_size'].iloc[0]} is an environment, updates rescaled;\n"
        f"selection: last; scale=small; data: {sources}",
    )
    return figure
