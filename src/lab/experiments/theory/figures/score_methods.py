"""A table: scores of a logistic regression by each method of ``score_solution``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.score_tables import compared


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per epsilon: median and range over seeds of each score and of the ratio to the exact."""
    scores = pd.read_csv(results / "theory" / "score_methods.csv")
    return compared(scores[scores.model == "logistic regression"], "epsilon")
