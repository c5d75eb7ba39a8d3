"""A table: the searches of the paper's table 1 as printed, by regulariser, with and without the AND-mask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.spirals.figures.spirals_methods import configuration, outcomes
from lab.experiments.spirals.methods import JOINT, read_trials


def tabulate(results: Path) -> pd.DataFrame:
    """Return a row per method and regulariser: how many trials are perfect, and the best trial."""
    rows = []
    for name, (method, penalty) in JOINT.items():
        trials = read_trials(results, name)
        best = trials[trials.chosen].iloc[0]
        rows.append(
            {
                "method": method,
                "weights": penalty,
                **outcomes(trials),
                "best configuration": configuration(best),
                "train %": f"{100 * best['train/accuracy']:.1f}",
                "test %": f"{100 * best['test/accuracy']:.1f}",
            }
        )
    return pd.DataFrame(rows)
