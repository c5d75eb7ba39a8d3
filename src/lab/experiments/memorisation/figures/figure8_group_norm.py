"""Figure 8 by epoch with GroupNorm. Under GroupNorm the local vote is equal to the authors' vote."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.figures import figure8_epochs, figure16


def draw(results: Path) -> Figure:
    """Draw the panels of ``figure8_epochs`` from the runs with GroupNorm."""
    return figure8_epochs.draw(results, "random_labels_group_norm")


def tabulate(results: Path) -> pd.DataFrame:
    """Return the table of ``figure16`` from the runs with GroupNorm."""
    return figure16.tabulate(results, "random_labels_group_norm")
