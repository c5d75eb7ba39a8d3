"""A table: scores of a perceptron with several dampings, exact and by 60 products with each Hessian."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.theory.score_tables import compared


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per damping: median and range over seeds of each score and of the ratio to the exact."""
    scores = pd.read_csv(results / "theory" / "score_methods.csv")
    return compared(scores[scores.model == "perceptron"], "damping")
