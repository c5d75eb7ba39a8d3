"""The evaluation of a run that each rule of ``trainer.selection`` chooses, read from committed curves."""

from __future__ import annotations

import pandas as pd

LOOKS_AT = {
    "last": "nothing",
    "training_environments": "training data",
    "validation_environment": "a fourth environment",
    "test_oracle": "test data (oracle)",
}
"""The data that each rule looks at."""


def selected(curve: pd.DataFrame, rule: str) -> pd.Series:
    """Return the row that a rule of ``LOOKS_AT`` chooses from one run's curve, which is sorted by step.

    Every run was made once, with one rule. Its curve shows what the other rules would have reported.
    """
    columns = {
        "last": ["step"],
        "training_environments": ["train/accuracy"],
        "validation_environment": ["validation/accuracy"],
        "test_oracle": ["train/accuracy", "test/accuracy"],
    }[rule]
    # This is the first row with the highest value. The oracle looks at the lower of its two accuracies.
    return curve.iloc[int(curve[columns].min(axis=1).to_numpy().argmax())]
