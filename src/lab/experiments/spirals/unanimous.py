"""The committed tables of figure 7's signals at threshold 1 in many networks, and what they count."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.experiments.spirals.settings import AUTHORS, KAIMING, Setting

NETWORKS = Path("spirals/unanimous.csv")
COMPONENTS = Path("spirals/unanimous_components.csv")
NETWORKS_OF_AUTHORS = KAIMING / NETWORKS.name
COMPONENTS_OF_AUTHORS = KAIMING / COMPONENTS.name
FEWEST_COMPONENTS = 3
"""The correlation of two components is 1 or -1, so a network with fewer than three says nothing."""


class Unanimous(NamedTuple):
    """The signals where all environments agree, in the networks of one setting.

    Attributes:
        n: the number of networks.
        measured: how many of them keep at least three components.
        components: the number of kept components: median, smallest and largest over the networks.
        larger: in how many measured networks the mechanism's correlation is larger than the shortcuts'.
        mechanism: the median over the measured networks of the correlation with the mechanism's gradient.
        shortcut: the same of the correlation with the shortcuts' gradient.
        pooled: both correlations over the kept components of all networks together, the mechanism's first.
    """

    n: int
    measured: int
    components: tuple[float, int, int]
    larger: int
    mechanism: float
    shortcut: float
    pooled: tuple[float, float]


def tables_of(setting: Setting) -> tuple[Path, Path]:
    """Return the table of networks of a setting, and that of their kept components."""
    return (NETWORKS_OF_AUTHORS, COMPONENTS_OF_AUTHORS) if setting == AUTHORS else (NETWORKS, COMPONENTS)


def read_unanimous(results: Path, setting: Setting) -> Unanimous:
    """Return what is left at threshold 1 at this setting."""
    rows, kept = (pd.read_csv(results / table) for table in tables_of(setting))
    rows = rows[(rows.revolutions == setting.revolutions) & (rows.agreement_threshold == 1)]
    kept = kept[kept.revolutions == setting.revolutions]
    counts = rows.kept_components
    enough = rows[counts >= FEWEST_COMPONENTS]
    return Unanimous(
        n=len(rows),
        measured=len(enough),
        components=(float(counts.median()), int(counts.min()), int(counts.max())),
        larger=int((enough.mechanism_correlation > enough.shortcut_correlation).sum()),
        mechanism=float(enough.mechanism_correlation.median()),
        shortcut=float(enough.shortcut_correlation.median()),
        pooled=(float(kept.average.corr(kept.mechanism)), float(kept.average.corr(kept.shortcut))),
    )
