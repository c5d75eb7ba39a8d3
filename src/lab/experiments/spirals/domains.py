"""The committed runs on DANN's domain classifier, in groups. The figure and the claim share them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

DOMAINS = Path("spirals")
SEPARATING = Path("spirals/separating_unit.csv")
"""A linear unit that hides the environments, computed instead of trained, on the data of many seeds."""
ACCURACY = "domain/accuracy"


class Group(NamedTuple):
    """Runs with the same features and the same adversary."""

    linear: bool
    adversary: bool


GROUPS = {
    Group(linear=True, adversary=False): "linear features, no adversary",
    Group(linear=True, adversary=True): "linear features, DANN",
    Group(linear=False, adversary=True): "perceptron, DANN",
}
"""The groups in the order of the figures, with their names in figures."""


def read_domains(results: Path, kind: str) -> pd.DataFrame:
    """Return the ``runs`` or ``curves`` with a column ``group``, whose values are keys of ``GROUPS``."""
    return read_groups(results / DOMAINS / f"dann_features_{kind}.csv")


def read_groups(path: Path) -> pd.DataFrame:
    """Return a table of runs with a column ``group``, whose values are keys of ``GROUPS``."""
    table = pd.read_csv(path)
    pairs = zip(table["model.linear_features"], table["model.reversal_weight"], strict=True)
    table["group"] = [Group(bool(linear), weight > 0) for linear, weight in pairs]
    return table


def chance(table: pd.DataFrame) -> float:
    """Return the accuracy of guessing the environment."""
    return 1 / float(table["dataset.n_environments"].iloc[0])
