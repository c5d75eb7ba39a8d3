"""What is measured of the first layer, and the claim that follows from it seed by seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from docs.page_text import table_cells
from lab.experiments.spirals.claims.input_weights import claims
from lab.experiments.spirals.figures.input_weights import draw
from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.measurements.input_weights import strengths
from lab.experiments.spirals.settings import INPUT_WEIGHTS_OF_AUTHORS, INPUT_WEIGHTS_OF_THREE
from lab.models import MLP


def test_strengths_of_a_network_by_hand() -> None:
    """Four neurons on two mechanism and two shortcut inputs, two tuned to each."""
    untrained, trained = (MLP(4, 2, hidden_units=4, hidden_layers=2) for _ in range(2))
    tuned = torch.tensor([[3.0, 0, 0, 0], [0, 3, 1, 0], [0, 0, 3, 0], [0, 1, 0, 3]])
    with torch.no_grad():
        untrained.layers[0].weight.copy_(tuned)
        trained.layers[0].weight.copy_(torch.tensor([2.0, 2.0, 1.0, 1.0]).diag())
        trained.layers[2].weight.copy_(torch.eye(4))
    assert strengths(trained, untrained) == pytest.approx(
        {"mechanism_rms": 1.0, "shortcut_rms": 0.5, "tuned_to_shortcuts": 0.5}
    )


def _write(folder: Path, shortcut: dict[str, list[float]], tuned: dict[str, list[float]]) -> None:
    rows = [
        {"seed": seed, "regulariser": name, "when": when, "shortcut_rms": rms, "tuned_to_shortcuts": strength}
        for name in REGULARISERS
        for when in ("before", "after")
        for seed, (rms, strength) in enumerate(zip(shortcut[name], tuned[name], strict=True))
    ]
    known = {"mechanism_rms": 0.2, "train/accuracy": 1.0, "test/accuracy": 1.0, "data_source": "spirals"}
    for table in (INPUT_WEIGHTS, INPUT_WEIGHTS_OF_THREE, INPUT_WEIGHTS_OF_AUTHORS):
        (folder / table).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).assign(**known).to_csv(folder / table, index=False)


@pytest.mark.parametrize(
    ("l1", "weaker", "kind"),
    [([0.1] * 10, 10, "reproduced"), ([0.1] * 10, 6, "in part"), ([0.3] * 10, 10, "in part")],
)
def test_the_seeds_decide(l1: list[float], weaker: int, kind: str, tmp_path: Path) -> None:
    shortcut = {"none": [0.2] * 10, "l1": l1, "l2": [0.1] * 10}
    tuned = [0.5] * weaker + [1.5] * (10 - weaker)
    _write(tmp_path, shortcut, {"none": [1.0] * 10, "l1": tuned, "l2": [0.5] * 10})
    (claim,) = claims(tmp_path)
    assert claim.kind == kind
    smaller = sum(value < 0.2 for value in l1)
    none, of_l1, of_l2 = (row[-3:] for row in table_cells(claim.table)[-3:])
    assert none == ["0 of 10", "", ""] and of_l2 == ["0 of 10", "10 of 10", "10 of 10"]
    assert of_l1 == ["0 of 10", f"{smaller} of 10", f"{weaker} of 10"]
    assert f"L1 1e-6 in {weaker} of 10 seeds and L2 1e-5 in 10 of 10 seeds with 2 revolutions" in claim.number
    assert len(draw(tmp_path).axes) == 4
