"""Cows and camels: a cue is dropped where a mask uses the digit in every seed, and no mask is no credit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.irm.claims.cue import claims
from ilc.experiments.irm.cue import COWS, DIGITS, LABEL_NOISE, RUNS, THRESHOLD
from ilc.experiments.irm.figures.per_example_cue import draw

Accuracies = dict[float, list[float]]


def _write(folder: Path, cows: Accuracies, digits: Accuracies) -> None:
    rows = [
        {LABEL_NOISE: noise, THRESHOLD: threshold, "seed": seed, "test/accuracy": accuracy}
        for noise, problem in ((COWS, cows), (DIGITS, digits))
        for threshold, accuracies in problem.items()
        for seed, accuracy in enumerate(accuracies)
    ]
    known = {"train/accuracy": 0.8, "validation/accuracy": 0.5, "dataset.batch_size": 80}
    (folder / RUNS).parent.mkdir()
    table = pd.DataFrame(rows).assign(**known, data_source="colored digits (scikit-learn)")
    table.to_csv(folder / RUNS, index=False)


@pytest.mark.parametrize(
    ("cows", "verdict"),
    [
        ({0: [0.8, 0.8], 0.2: [0.95, 0.99]}, "pattern reproduced on a stand-in"),
        ({0: [0.8, 0.8], 0.2: [0.85, 0.99]}, "in part, on a stand-in"),
        ({0: [0.8, 0.8], 0.2: [0.1, 0.1]}, "not reproduced, on a stand-in"),
        ({0: [0.99, 0.99], 0.2: [0.5, 0.5]}, "not reproduced, on a stand-in"),  # No mask, no credit.
    ],
)
def test_what_is_dropped(cows: Accuracies, verdict: str, tmp_path: Path) -> None:
    _write(tmp_path, cows, {0: [0.1, 0.1]})  # The colored digits decide nothing.
    (claim,) = claims(tmp_path)
    assert claim.verdict == verdict
    assert claim.number.endswith(f"{100 * cows[0][0]:.1f} % without")
    assert "n = 2 seeds; the digit alone is worth 100 %, the colour alone 10 %" in claim.ours


@pytest.mark.parametrize("digits", [{}, {0: [0.1, 0.1]}])
def test_a_panel_per_problem_that_was_run(digits: Accuracies, tmp_path: Path) -> None:
    _write(tmp_path, {0: [0.8, 0.8], 0.2: [0.9, 0.9]}, digits)
    assert len(draw(tmp_path).axes) == 1 + len(digits)
