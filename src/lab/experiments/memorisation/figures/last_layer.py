"""Random and true labels with the last layer of the authors' network, beside ours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.memorisation.figures.memorisation_by_width import with_and_without_mask
from lab.experiments.memorisation.results import pending, runs_of

NAME = "last_layer"
LAYERS = {"with bias": False, "no bias, an eighth of the logits": True}
"""The values of ``model.scaled_logits`` for each last layer; the first is ours, the second the authors'."""


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per last layer with the accuracies of both seeds at the last epoch, in per cent."""
    runs = runs_of(results, NAME).sort_values("seed")
    if runs.empty:
        return pd.DataFrame([{"pending": pending(results, NAME)}])
    scaled = runs["model.scaled_logits"]
    rows = [
        {"last layer": name} | with_and_without_mask(runs[scaled == is_scaled])
        for name, is_scaled in LAYERS.items()
    ]
    return pd.DataFrame(rows)
