"""What figure 15, the figure of revolutions and their claims share: one set of runs, and its axis.

All of them have the configuration that the thesis names its best, with or without rescaled updates, on
spirals of several numbers of revolutions and with several numbers of training environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

ENVIRONMENTS = Path("spirals/environments_runs.csv")
SIZE = "dataset.n_environments"
REVOLUTIONS = "dataset.revolutions"
RESCALED = "aggregator.rescale"
THRESHOLD = "aggregator.agreement_threshold"
UNANIMITY = 1.0
"""The agreement threshold that the thesis names its best."""
L2 = "optimizer.weight_decay"
PUBLISHED_SIZE = 32
"""Training environments in the paper, but for figure 15."""
READING = 1.5
"""Revolutions with which the results come out as published: no source states their number."""


def read_environments(results: Path) -> pd.DataFrame:
    """A row per run."""
    return pd.read_csv(results / ENVIRONMENTS)


def plain_runs(runs: pd.DataFrame, revolutions: float) -> pd.DataFrame:
    """Plain training on spirals of so many revolutions."""
    return runs[(runs.aggregator == "mean") & (runs[REVOLUTIONS] == revolutions)]


def masked_runs(runs: pd.DataFrame, rescaled: bool) -> pd.DataFrame:
    """The AND-mask with L2, all agreement thresholds."""
    return runs[(runs.aggregator == "and_mask") & (runs[RESCALED] == rescaled) & (runs[L2] > 0)]


def masked_by_size(runs: pd.DataFrame) -> pd.DataFrame:
    """What figure 15 shows of it: rescaled, on spirals as they are read there, all agreement thresholds."""
    chosen = masked_runs(runs, rescaled=True)
    return chosen[chosen[REVOLUTIONS] == READING]


def masked_by_revolutions(runs: pd.DataFrame, rescaled: bool) -> pd.DataFrame:
    """What unanimity does with the paper's number of environments."""
    chosen = masked_runs(runs, rescaled)
    return chosen[(chosen[SIZE] == PUBLISHED_SIZE) & (chosen[THRESHOLD] == UNANIMITY)]


def size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    """Make the x axis one of these numbers of environments."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training environments")


def seeds_per_point(runs: pd.DataFrame) -> str:
    """How many seeds the points of a figure have, in words."""
    point = ["aggregator", SIZE, REVOLUTIONS, RESCALED, L2, THRESHOLD]
    counts = runs.groupby(point, dropna=False).seed.nunique()
    fewest, most = counts.min(), counts.max()
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"
