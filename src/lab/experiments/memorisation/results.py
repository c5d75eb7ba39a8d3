"""The constants and functions that the figures, tables and claims of section 3.2 share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from lab.figures.pending import Choose, progress_in_words, read_done
from lab.figures.style import GREY, data_sources

FOLDER = Path("memorisation")
THRESHOLD = "aggregator.agreement_threshold"
NOISE = "dataset.label_noise"
IMAGES = "dataset.n_environments"
RATE = "optimizer.lr"
LABEL_KINDS = {0.0: "true labels", 1.0: "random labels"}
KIND_COLORS = {0.0: "#009E73", 1.0: "#AA4499"}  # not two shades of one colour
MARKERS = {0.0: "o", 1.0: "s"}
RATE_FALLS = (0.5, 0.75)
"""The learning rate falls tenfold after these shares of the epochs, in the experiment with random labels."""
BEST_RATES = {"mean": 1e-3, "and_mask": 5e-3}
"""The learning rates that the paper found best under label noise, by aggregator."""
SAME_RATE = {"mean": BEST_RATES["and_mask"]}
"""Plain training with the learning rate of the mask. It separates the effect of the rate from the mask's."""


def runs_of(results: Path, name: str) -> pd.DataFrame:
    """Return the finished runs of a study of this experiment, with their last values."""
    return read_done(results / FOLDER / f"{name}_runs.csv")


def curves_of(results: Path, name: str) -> pd.DataFrame:
    """Return the evaluations of the runs of a study over the epochs."""
    return pd.read_csv(results / FOLDER / f"{name}_curves.csv")


def pending(results: Path, name: str, choose: Choose | None = None) -> str:
    """Return how many runs of a study are done, in words; the empty string if all are done.

    ``choose`` takes the table of runs and returns the rows that are counted; by default all.
    """
    return progress_in_words(results / FOLDER / f"{name}_runs.csv", choose)


def at_rates(table: pd.DataFrame, rates: dict[str, float]) -> pd.DataFrame:
    """Return the rows whose learning rate is the one that ``rates`` gives for their aggregator."""
    chosen: pd.DataFrame = table[table[RATE] == table.aggregator.map(rates)]
    return chosen


def at_best_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose learning rate is the one that the paper found best for their aggregator."""
    return at_rates(table, BEST_RATES)


def thresholds_of(results: Path, name: str) -> list[float]:
    """Return the thresholds of a study, also those of runs that are pending."""
    return sorted(pd.read_csv(results / FOLDER / f"{name}_runs.csv")[THRESHOLD].unique().tolist())


def draw_thresholds(
    axes: Axes, runs: pd.DataFrame, thresholds: list[float], key: str, style: str, suffix: str = ""
) -> None:
    """Draw the final accuracy against the threshold: a line through the medians and a mark per seed.

    A line ends where the next threshold was not run.
    """
    for noise, label in LABEL_KINDS.items():
        chosen = runs[runs[NOISE] == noise]
        # The thresholds are spaced too unevenly for a true scale, so they are drawn at equal distances.
        medians = chosen.groupby(THRESHOLD)[key].median().reindex(thresholds)
        color = KIND_COLORS[noise]
        axes.plot(
            medians.index.map(thresholds.index), medians, style, color=color, lw=2, label=label + suffix
        )
        filled = color if style == "-" else "white"
        places = chosen[THRESHOLD].map(thresholds.index)
        axes.plot(places, chosen[key], MARKERS[noise], color=color, mfc=filled, ms=5, ls="")
    axes.set_xticks(range(len(thresholds)), [f"{t:g}" for t in thresholds])
    axes.set_xlabel("agreement threshold (0: plain training)")


def draw_seeds(axes: Axes, curves: pd.DataFrame, key: str, color: str, style: str, label: str) -> None:
    """Draw a measure over the epochs: a thick line for the median of the seeds, a thin line for each seed."""
    seeds = curves.pivot(index="epoch", columns="seed", values=key)
    if len(seeds.columns) > 1:
        axes.plot(seeds.index, seeds, style, color=color, lw=0.5, alpha=0.5)
    axes.plot(seeds.index, seeds.median(axis=1), style, color=color, lw=1.8, label=label)


def mark_rate_falls(axes: Axes, epochs: int, falls: tuple[float, ...] = RATE_FALLS) -> None:
    """Draw dotted lines where the learning rate falls."""
    for share in falls:
        axes.axvline(share * epochs, color=GREY, lw=0.8, ls=":")


def mark_chance(axes: Axes) -> None:
    """Draw a dotted line at the accuracy of guessing."""
    axes.axhline(0.1, color=GREY, lw=0.8, ls=":")


def about(runs: pd.DataFrame, seeds: str, unfinished: str = "", votes: str = "local votes") -> str:
    """Return the words about the runs that are printed below a figure."""
    norm = ", GroupNorm" if set(runs.get("model.norm", ())) == {"group"} else ""
    network = f"FastResNet of width {_several(runs['model.width'])}{norm}"
    training = f"{_several(runs.epoch)} epochs, batch 80, {votes}"
    rest = f"; {unfinished}" if unfinished else ""
    return f"{seeds};\n{network}, {training};\ndata: {data_sources(runs)}{rest}"


def seeds_per(runs: pd.DataFrame, columns: list[str]) -> str:
    """Return the number of seeds in each group, as ``n = 3 seeds``, or the range if the groups differ."""
    n = runs.groupby(columns).seed.nunique()
    if n.min() < n.max():
        return f"n = {n.min()} to {n.max()} seeds"
    return f"n = {n.min()} seeds" if n.min() > 1 else "n = 1 seed"


def _several(values: pd.Series) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values.unique()))
