"""Which evaluation of a run each rule of ``trainer.selection`` chooses, read from committed curves."""

from __future__ import annotations

import pandas as pd

LOOKS_AT = {
    "last": "nothing",
    "training_environments": "training data",
    "validation_environment": "a fourth environment",
    "test_oracle": "test data (oracle)",
}
"""What each rule looks at."""


def selected(curve: pd.DataFrame, rule: str) -> pd.Series:
    """The row of one run's curve, sorted by step, that a rule of ``LOOKS_AT`` chooses.

    A run was made once, with the rule ``last``; what the others would have reported, its curve says.
    """
    columns = {
        "last": ["step"],
        "training_environments": ["train/accuracy"],
        "validation_environment": ["validation/accuracy"],
        "test_oracle": ["train/accuracy", "test/accuracy"],
    }[rule]
    # The first of the highest; the oracle looks at the worse of two.
    return curve.iloc[int(curve[columns].min(axis=1).to_numpy().argmax())]
