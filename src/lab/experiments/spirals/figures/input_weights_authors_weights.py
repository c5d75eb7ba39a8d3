"""How L1 and L2 change the first layer under the AND-mask, at the authors' setting."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.spirals.figures.input_weights import draw_weights
from lab.experiments.spirals.settings import AUTHORS, INPUT_WEIGHTS_OF_AUTHORS


def draw(results: Path) -> Figure:
    """Draw the weights with three revolutions and the first weights of the authors' code."""
    return draw_weights(pd.read_csv(results / INPUT_WEIGHTS_OF_AUTHORS), AUTHORS)
