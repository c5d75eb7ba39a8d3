"""What is measured of the first layer, and the claim that follows from it seed by seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from lab.experiments.spirals.claims.input_weights import claims
from lab.experiments.spirals.figures.input_weights import draw
from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.measurements.input_weights import strengths
from lab.experiments.spirals.three_revolutions import INPUT_WEIGHTS_OF_THREE
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
    for table in (INPUT_WEIGHTS, INPUT_WEIGHTS_OF_THREE):
        (folder / table).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).assign(**known).to_csv(folder / table, index=False)


@pytest.mark.parametrize(
    ("l1", "tuned", "kind"),
    [
        ([0.1, 0.1, 0.1], [0.5, 0.5, 0.5], "reproduced"),
        ([0.1, 0.1, 0.1], [0.5, 0.5, 1.5], "in part"),
        ([0.1, 0.3, 0.3], [0.5, 0.5, 0.5], "in part"),
    ],
)
def test_every_seed_decides(l1: list[float], tuned: list[float], kind: str, tmp_path: Path) -> None:
    shortcut = {"none": [0.2] * 3, "l1": l1, "l2": [0.1] * 3}
    _write(tmp_path, shortcut, {"none": [1.0] * 3, "l1": tuned, "l2": [0.5] * 3})
    (claim,) = claims(tmp_path)
    assert claim.kind == kind
    smaller = sum(value < 0.2 for value in l1)
    assert f"L1 1e-6 in {smaller} and {sum(value < 1 for value in tuned)} of 3 seeds" in claim.ours
    weaker = sum(value < 1 for value in tuned)
    assert claim.number == (
        f"tuned neurons are weaker with L1 in {weaker} and {weaker} of 3 seeds and with L2 in 3 and 3 of 3 "
        "seeds (2 and 3 revolutions)"
    )
    assert len(draw(tmp_path).axes) == 4
