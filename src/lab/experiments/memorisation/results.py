"""What the figures, tables and claims of section 3.2 read, choose and say about their runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.figures.pending import Choose, progress_in_words, read_done
from lab.figures.style import data_sources

FOLDER = Path("memorisation")
THRESHOLD = "aggregator.agreement_threshold"
NOISE = "dataset.label_noise"
IMAGES = "dataset.n_environments"
RATE = "optimizer.lr"
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
    *others, largest = (f"{value:g}" for value in sorted(values.unique()))
    return f"{', '.join(others)} and {largest}" if others else largest
