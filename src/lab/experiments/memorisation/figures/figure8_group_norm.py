"""Figure 8 over the epochs with GroupNorm, under which the local vote is the authors'."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from lab.experiments.memorisation.figures import figure8_epochs


def draw(results: Path) -> Figure:
    """Draw the panels of ``figure8_epochs`` from the runs with GroupNorm."""
    return figure8_epochs.draw(results, "random_labels_group_norm")
