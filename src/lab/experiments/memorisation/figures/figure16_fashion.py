"""Figures 8 and 16 on the 60,000 images of Fashion-MNIST."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.memorisation.figures import figure16


def draw(results: Path) -> Figure:
    """Draw the panel of ``figure16`` from the runs on Fashion-MNIST."""
    return figure16.draw(results, "random_labels_fashion")


def tabulate(results: Path) -> pd.DataFrame:
    """Return the table of ``figure16`` from the runs on Fashion-MNIST."""
    return figure16.tabulate(results, "random_labels_fashion")
