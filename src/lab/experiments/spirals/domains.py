"""What the figure and the claim about DANN's domain classifier share: the committed runs, in groups."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

DOMAINS = Path("spirals")
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
"""In the order and with the names that they have in figures."""


def read_domains(results: Path, kind: str) -> pd.DataFrame:
    """The ``runs`` or ``curves`` with a column ``group``, a key of ``GROUPS``."""
    table = pd.read_csv(results / DOMAINS / f"dann_features_{kind}.csv")
    pairs = zip(table["model.linear_features"], table["model.reversal_weight"], strict=True)
    table["group"] = [Group(bool(linear), weight > 0) for linear, weight in pairs]
    return table


def chance(table: pd.DataFrame) -> float:
    """How often guessing names the environment."""
    return 1 / float(table["dataset.n_environments"].iloc[0])
