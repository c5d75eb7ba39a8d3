"""Which published results appear under each reading of the details that section 3.1 leaves open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lab.experiments.spirals.figures.spirals_readings import of_shortcuts
from lab.experiments.spirals.methods import PERFECT
from lab.experiments.spirals.reading_outcomes import PUBLISHED_ENVIRONMENTS, Outcome, read_outcomes
from lab.experiments.spirals.readings import Reading
from lab.figures.style import COLORS, new_figure, stamp

Cell = tuple[str, bool]
"""The text of a cell, and whether its value is as published."""
RESULTS = (
    "untrained:\ncorre-\nlation\n(0.4)",
    "thesis's\nconfi-\nguration\n(100)",
    "the\nsame,\nrescaled\n(100)",
    "plain,\n256",
    "plain,\n512",
    "plain,\n1,024\n(100)",
)
TITLES = {"each": "128 examples of each environment", "all": "128 examples of all environments"}
COUNTS = {"each": "left", "all": "middle", "own": "own"}
GOOD, OTHER = COLORS["and_mask"], "#f2f2f2"


def draw(results: Path) -> Figure:
    """Draw a cell per reading and published result, with our number. Blue cells agree with the paper."""
    outcomes = read_outcomes(results)
    figure = new_figure(width=11.0, height=5.2)
    panels = figure.subplots(1, 3, width_ratios=(6, 6, 2.4))
    for axes, (counted, title) in zip(panels[:2], TITLES.items(), strict=True):
        _cells(axes, [_results(outcome) for outcome in outcomes if outcome.counted == counted], RESULTS)
        axes.set_title(title, fontsize=11)
    of_three: dict[Reading, list[Cell]] = {}
    for outcome in outcomes:
        cell = (str(outcome.reproduced), outcome.reproduced == 3)
        of_three.setdefault(outcome.reading, []).append(cell)
    _cells(panels[2], list(of_three.values()), tuple(COUNTS.values()))
    panels[2].set_title("of three results", fontsize=11)
    panels[0].set_yticks(range(len(of_three)), [_name(reading) for reading in of_three], fontsize=9.5)
    for axes in panels[1:]:
        axes.set_yticks([])
    patches = [Patch(color=color) for color in (GOOD, OTHER)]
    figure.legend(
        patches, ["as published", "not as published"], ncols=2, fontsize=10, loc="outside upper left"
    )
    n_masked, n_plain = len(outcomes[0].as_published), len(outcomes[0].plain[PUBLISHED_ENVIRONMENTS])
    stamp(
        figure,
        "rows: what 0.1 is (s.d.: standard deviation), whether the mechanism is scaled, number of "
        "revolutions; a step sees 128 examples of each environment (plain training: 4,096 in all) or 128 in "
        "all; own: the mask those of each, plain training all\n"
        "correlation: mean over ten networks, as published if its 95 % interval contains 0.4; accuracies in "
        f"per cent on the test set after the last step: median of {n_masked} seeds; plain training with 256, "
        f"512 and 1,024 environments: best of {n_plain} seeds (as in the paper, sees test data), as "
        "published if 1,024 is the first to reach 99 %\nblank: not run, because 1,024 does not reach it; the "
        "thesis's configuration; ranges: table spirals_readings; scale=paper; data: synthetic spirals",
    )
    return figure


def _name(reading: Reading) -> str:
    scaled = "scaled" if reading.standardize_mechanism else "not scaled"
    noise = {"variance": "variance", "standard deviation": "s.d."}[of_shortcuts(reading.shortcut_variance)]
    return f"{noise}, {scaled}, {reading.revolutions:g}"


def _cells(axes: Axes, cells: list[list[Cell]], columns: tuple[str, ...]) -> None:
    good = np.array([[float(is_so) for _, is_so in row] for row in cells])
    axes.imshow(good, cmap=ListedColormap([OTHER, GOOD]), vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(cells):
        for x, (text, is_so) in enumerate(row):
            color = "white" if is_so else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=10, color=color)
    axes.set_xticks(range(len(columns)), columns, fontsize=9)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for edge in axes.spines.values():
        edge.set_visible(False)
    for line in np.arange(0.5, len(cells) - 1):
        axes.axhline(line, color="white", lw=1.5)
    for line in np.arange(0.5, len(columns) - 1):
        axes.axvline(line, color="white", lw=1.5)


def _results(outcome: Outcome) -> list[Cell]:
    masked = [
        (f"{100 * test.median():.0f}", bool(test.median() >= PERFECT))
        for test in (outcome.as_published, outcome.rescaled)
    ]
    in_time = outcome.first == PUBLISHED_ENVIRONMENTS
    plain = [
        (f"{100 * test.max():.0f}", in_time) if len(test) else ("", False) for test in outcome.plain.values()
    ]
    return [(f"{outcome.correlations.mean():.2f}", outcome.correlates), *masked, *plain]
