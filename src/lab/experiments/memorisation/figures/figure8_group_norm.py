"""Figure 8 by epoch with GroupNorm. Under GroupNorm the local vote is equal to the authors' vote."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.figures import figure8_epochs


def draw(results: Path) -> Figure:
    """Draw the panels of ``figure8_epochs`` from the runs with GroupNorm."""
    return figure8_epochs.draw(results, "random_labels_group_norm")
