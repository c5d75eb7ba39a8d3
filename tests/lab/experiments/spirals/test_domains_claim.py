"""DANN's claim follows the domain classifier's accuracy, with an adversary and without."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.spirals.claims.domains import claims
from lab.experiments.spirals.domains import ACCURACY
from lab.experiments.spirals.figures.dann_features import draw


def _write(folder: Path, alone: list[float], adversary: list[float]) -> None:
    """32 environments; ``alone`` and ``adversary`` with linear features, the perceptron's decides nothing."""
    rows = [
        {"seed": seed, "model.linear_features": linear, "model.reversal_weight": weight, ACCURACY: accuracy}
        for linear, weight, accuracies in (
            (True, 0.0, alone),
            (True, 1.0, adversary),
            (False, 1.0, [0.5, 0.5]),
        )
        for seed, accuracy in enumerate(accuracies)
    ]
    known = {"dataset.n_environments": 32, "train/accuracy": 1.0, "test/accuracy": 0.5, "epoch": 3}
    table = pd.DataFrame(rows).assign(**known, data_source="synthetic spirals")
    (folder / "spirals").mkdir()
    for kind in ("runs", "curves"):
        table.to_csv(folder / "spirals" / f"dann_features_{kind}.csv", index=False)


@pytest.mark.parametrize(
    ("alone", "adversary", "verdict"),
    [
        ([1.0, 0.9], [0.03, 0.06], "reproduced"),
        ([1.0, 0.9], [0.03, 0.30], "in part: hidden in 1 of 2 seeds"),
        (
            [1.0, 0.9],
            [0.40, 0.30],
            "not reproduced: hidden in 0 of 2 seeds, but recognised less often than without an adversary",
        ),
        ([1.0, 0.9], [1.0, 1.0], "not reproduced"),
        ([0.03, 0.04], [0.03, 0.03], "not reproduced"),  # Where there is nothing to hide.
    ],
)
def test_environments_are_hidden_where_they_could_be_named(
    alone: list[float], adversary: list[float], verdict: str, tmp_path: Path
) -> None:
    _write(tmp_path, alone, adversary)
    (claim,) = claims(tmp_path)
    assert claim.verdict == verdict
    assert "chance 3.1 %" in claim.ours
    assert len(draw(tmp_path).axes) == 3
