"""The runs by number of training environments, and their axis, for figure 15 and its claim.

Both methods have the configuration that the thesis names its best. The AND-mask has rescaled updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from lab.experiments.spirals.settings import AUTHORS, KAIMING, TWO, Setting

MASKED = Path("spirals/environments_runs.csv")
PLAIN = Path("spirals/environments_plain.csv")
PLAIN_OF_AUTHORS = KAIMING / PLAIN.name
MASKED_OF_AUTHORS = KAIMING / MASKED.name
SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CAP = 4096
"""The most examples that a step of the AND-mask has here, in all environments together."""
EACH = 128
"""The examples of each environment in a step, up to the number of environments at which the cap begins."""
UNANIMITY = 1.0
"""The agreement threshold that the thesis names its best."""


def read_environments(results: Path, setting: Setting = TWO) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the last evaluations of plain training and those of the AND-mask, at one of two settings.

    The columns ``n_environments`` and ``threshold`` tell their settings.
    """
    paths = (PLAIN_OF_AUTHORS, MASKED_OF_AUTHORS) if setting == AUTHORS else (PLAIN, MASKED)
    plain, masked = (pd.read_csv(results / path) for path in paths)
    last = plain.groupby("n_environments").epoch.transform("max")
    names = {"dataset.n_environments": "n_environments", "aggregator.agreement_threshold": "threshold"}
    return plain[plain.epoch == last], masked.rename(columns=names)


def size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    """Give the x axis a tick at each of these numbers of environments."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training environments")


def seeds_per_point(plain: pd.DataFrame, masked: pd.DataFrame) -> str:
    """Return how many seeds the points of the figure have, in words."""
    counts = [
        *plain.groupby("n_environments").seed.nunique(),
        *masked.groupby(["n_environments", "threshold"]).seed.nunique(),
    ]
    fewest, most = min(counts), max(counts)
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"
