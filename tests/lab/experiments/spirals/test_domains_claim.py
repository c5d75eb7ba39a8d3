"""DANN's claim follows the domain classifier's accuracy, with an adversary and without."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.data import make_spirals
from lab.experiments.spirals.claims.domains import claims
from lab.experiments.spirals.domains import ACCURACY, SEPARATING
from lab.experiments.spirals.figures.dann_features import draw
from lab.experiments.spirals.measurements.separating_unit import separating_unit
from lab.experiments.spirals.settings import DOMAINS_OF_THREE


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
    (folder / DOMAINS_OF_THREE).parent.mkdir()
    table.to_csv(folder / DOMAINS_OF_THREE, index=False)
    unit = {"seed": [0, 1], "length": 10.0, "largest_error": 1e-15, "label_accuracy": 1.0}
    pd.DataFrame({**unit, "best_domain_accuracy": [0.033, 0.034]}).to_csv(folder / SEPARATING, index=False)


@pytest.mark.parametrize(
    ("alone", "adversary", "verdict"),
    [
        ([1.0, 0.9, 0.9], [0.03, 0.06, 0.05], "reproduced"),
        ([1.0, 0.9, 0.9], [0.03, 0.30, 0.30], "in part: hidden in 1 of 3 seeds"),
        (
            [1.0, 0.9, 0.9],
            [0.40, 0.30, 0.30],
            "in part: such a layer exists, but gradient descent did not find it at this setting",
        ),
        ([0.03, 0.04, 0.04], [0.03, 0.03, 0.03], "undecided: there is nothing to hide"),
    ],
)
def test_environments_are_hidden_where_they_could_be_named(
    alone: list[float], adversary: list[float], verdict: str, tmp_path: Path
) -> None:
    _write(tmp_path, alone, adversary)
    (claim,) = claims(tmp_path)
    assert claim.verdict == verdict
    assert "chance 3.1 %" in claim.ours
    assert "3.4 % of the examples (chance 3.1 %), on the data of 2 of 2 seeds" in claim.ours
    assert len(draw(tmp_path).axes) == 3


def test_a_unit_that_separates_exists_where_shortcuts_are_as_many_as_environments() -> None:
    """By hand: the labels come out at every example, and its output says nothing about the environment."""
    spirals = make_spirals(0, n_environments=8, examples_per_environment=50, shortcut_dimensions=8, n_test=1)
    found = separating_unit(spirals)
    assert found["label_accuracy"] == 1
    assert found["largest_error"] < 1e-9
    positive = spirals.targets.sum(1)
    best = (positive.max() + (50 - positive).max()) / 400
    assert found["best_domain_accuracy"] == pytest.approx(float(best))


def test_with_fewer_shortcuts_than_environments_none_exists() -> None:
    spirals = make_spirals(0, n_environments=8, examples_per_environment=50, shortcut_dimensions=2, n_test=1)
    found = separating_unit(spirals)
    assert found["largest_error"] > 0.1
    assert found["best_domain_accuracy"] > 0.5
