"""Figure 14: learning curves of every method on the spirals; training above, test below."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ilc.experiments.spirals.methods import CHANCE, LOWEST, METHODS, SEARCHED_REVOLUTIONS, read_methods, seeds
from ilc.figures.style import COLORS, GREY, as_percent, data_sources, new_figure, stamp


def draw(results: Path) -> Figure:
    """A column per method, a line per seed, a cross where the paper's rule ended the run."""
    curves, runs = read_methods(results, "curves"), read_methods(results, "runs")
    figure = new_figure(n_columns=len(METHODS), n_rows=2, width=1.35, height=1.9)
    rows = figure.subplots(2, len(METHODS), sharex=True, sharey=True)
    for panels, split in zip(rows, ("train", "test"), strict=True):
        key = f"{split}/accuracy"
        for axes, label in zip(panels, METHODS.values(), strict=True):
            of_method = curves[curves.method == label]
            color = COLORS[of_method.aggregator.iloc[0]]
            for _, run in of_method.groupby("seed"):
                axes.plot(run.epoch, run[key], color=color, lw=0.7, alpha=0.5)
            stopped = runs[(runs.method == label) & (runs.stopped == "memorised")]
            axes.plot(stopped.epoch, stopped[key], "x", color=color, ms=4)
            axes.axhline(CHANCE, color=GREY, lw=0.8, ls=":")
            as_percent(axes, LOWEST)
        panels[0].set_ylabel(f"{split} accuracy")
    for axes, label in zip(rows[0], METHODS.values(), strict=True):
        axes.set_title(label, fontsize=9)
    for axes in rows[1]:
        axes.set(xticks=[0, 40, 80], xlabel="epoch")
    stamp(
        figure,
        f"a line per seed, {seeds(runs)}; cross: stopped by the paper's rule (train above 97 %, "
        f"test below 60 %); dotted: chance; scale=paper; {SEARCHED_REVOLUTIONS} revolutions;\n"
        f"data: {data_sources(runs)}",
    )
    return figure
