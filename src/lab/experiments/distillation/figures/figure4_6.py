"""Thesis, figure 4.6: accuracy on the Game of Life by number of examples, and the learned attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lab.experiments.distillation.drawing import draw_curves
from lab.experiments.distillation.game_of_life_results import ROWS, game_of_life
from lab.experiments.distillation.results import COLORS, LABELS, STYLES
from lab.figures.style import as_percent, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """Draw each game's accuracy by examples and over training, and what each layer was asked for."""
    runs, curves = game_of_life(results, "runs"), game_of_life(results, "curves")
    games = sorted(set(runs.game))
    figure = new_figure(3, len(games), width=3.5, height=3.2)
    rows = figure.subplots(len(games), 3, squeeze=False)
    for panels, game in zip(rows, games, strict=True):
        made, over = runs[runs.game == game], curves[curves.game == game]
        steps, size = game
        if len(set(made.n_train)) > 1:
            _by_size(panels[0], made)
        else:
            _by_row(panels[0], made)
        panels[0].set_title(f"{steps} steps, {size} x {size} cells", fontsize=10)
        most = made.n_train.max()
        draw_curves(panels[1], over[over.n_train == most], "test/accuracy", ROWS)
        panels[1].set_ylabel(f"test accuracy, n = {most:,}")
        as_percent(panels[1], lowest=0.5)
        learned = made[made.row.str.startswith("learned") & (made.n_train == most)]
        if learned.empty:
            panels[2].axis("off")
        else:
            n_seeds = learned.seed.nunique()
            _attention(panels[2], learned.sort_values("best/test/accuracy").iloc[-1], n_seeds)
    lines, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, fontsize=9, ncols=3, loc="outside upper center")
    n = {
        game: int(runs[runs.game == game].groupby(["row", "n_train"]).seed.nunique().min()) for game in games
    }
    words = [
        f"{size} x {size} cells: " + (f"n = {k} seeds (thin), thick: their median" if k > 1 else "one seed")
        for (_, size), k in n.items()
    ]
    stamp(
        figure,
        f"{'; '.join(words)}; thesis: 3 steps, 17 x 17 cells; data: {data_sources(runs)}",
    )
    return figure


def _by_size(axes: Axes, runs: pd.DataFrame) -> None:
    sizes = sorted(runs.n_train.unique())
    for row in (row for row in ROWS if row in set(runs.row)):
        chosen = runs[runs.row == row]
        seeds = chosen.pivot(index="n_train", columns="seed", values="best/test/accuracy")
        color, dashes = COLORS[row], STYLES.get(row, "-")
        axes.plot(seeds.index, seeds, dashes, color=color, lw=0.6, alpha=0.5)
        median = seeds.median(axis=1)
        axes.plot(seeds.index, median, dashes, color=color, marker="o", lw=2, ms=4, label=LABELS[row])
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xlabel("training examples")
    axes.set_ylabel("best test accuracy (oracle)")
    as_percent(axes, lowest=0.5)


def _by_row(axes: Axes, runs: pd.DataFrame) -> None:
    """Draw a row of seeds per method, for a game with a single number of examples."""
    shown = [row for row in ROWS if row in set(runs.row)]
    for place, row in enumerate(shown):
        values = runs[runs.row == row]["best/test/accuracy"]
        axes.plot(values, [place] * len(values), "o", color=COLORS[row], ms=7)
    axes.set_yticks(range(len(shown)), [])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0.48, 1.04)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel(f"best test accuracy (oracle), n = {runs.n_train.max():,}")


def _attention(axes: Axes, run: pd.Series, n_seeds: int) -> None:
    steps, layers = int(run["dataset.steps"]), 3 * int(run["dataset.steps"])
    values = np.array(
        [[run[f"found/layer{k}/step{t}"] for k in range(1, layers + 1)] for t in range(1, steps + 1)],
        dtype=float,
    )
    axes.imshow(values, vmin=0, vmax=1, cmap="cividis", aspect="auto")
    axes.grid(False)
    axes.set_xticks(range(layers), [str(layer) for layer in range(1, layers + 1)])
    axes.set_yticks(range(steps), [f"after\nstep {step}" for step in range(1, steps + 1)])
    axes.set_xlabel("layer of the student")
    axes.set_title(
        "attention found, mean over filters\n"
        f"({'best seed on test data' if n_seeds > 1 else 'the only seed'}, n = {run.n_train:,})",
        fontsize=9,
    )
    for (y, x), value in np.ndenumerate(values):
        color = "white" if value < 0.5 else "black"
        axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=8, color=color)
