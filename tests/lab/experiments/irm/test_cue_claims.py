"""Cows and camels: a cue is dropped where a mask uses the digit in every seed, and no mask is no credit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.irm.claims.cue import claims
from lab.experiments.irm.cue import COLORED, COWS, LABEL_NOISE, RUNS, THRESHOLD
from lab.experiments.irm.figures.per_example_cue import draw

Accuracies = dict[float, list[float]]
HELPS = "in part: the mask helps, but does not drop the cue"
NOTHING = "undecided: nothing is learned at the thresholds that can drop such a cue"


def _write(folder: Path, cows: Accuracies, colored: Accuracies, train: float = 0.8, pending: int = 0) -> None:
    """Write runs with these test accuracies by threshold. The last accuracy has two seeds."""
    rows = [
        {LABEL_NOISE: noise, THRESHOLD: threshold, "seed": seed, "test/accuracy": accuracy}
        for noise, problem in ((COWS, cows), (COLORED, colored))
        for threshold, accuracies in problem.items()
        for seed, accuracy in enumerate((*accuracies, *accuracies[-1:]))
    ]
    known = {"train/accuracy": train, "validation/accuracy": 0.5, "dataset.batch_size": 80}
    (folder / RUNS).parent.mkdir()
    columns = [LABEL_NOISE, THRESHOLD, "seed", "test/accuracy"]
    table = pd.DataFrame(rows, columns=columns).assign(
        **known, data_source="Colored MNIST", stopped="completed"
    )
    others = pd.DataFrame({"stopped": ["pending"] * pending})
    pd.concat([table, others][: 1 + bool(pending)]).to_csv(folder / RUNS, index=False)


@pytest.mark.parametrize(
    ("cows", "train", "verdict"),
    [
        ({0: [0.8, 0.8], 0.7: [0.95, 0.99]}, 0.8, "reproduced"),
        ({0: [0.8, 0.8], 0.7: [0.85, 0.99]}, 0.8, HELPS),
        (
            {0: [0.8, 0.8], 0.2: [0.95, 0.99], 0.7: [0.1, 0.1]},
            0.8,
            HELPS,
        ),
        ({0: [0.8, 0.8], 0.2: [0.82, 0.82], 0.7: [0.1, 0.1]}, 0.8, "not reproduced"),
        (
            {0: [0.8, 0.8], 0.7: [0.5, 0.5]},
            0.5,
            NOTHING,
        ),
        ({0: [0.8, 0.8], 0.4: [0.1, 0.1]}, 0.8, "undecided"),  # It passes there by arithmetic.
        ({0: [0.99, 0.99], 0.7: [0.95, 0.95]}, 0.8, "not reproduced"),  # No mask, no credit.
    ],
)
def test_what_is_dropped(cows: Accuracies, train: float, verdict: str, tmp_path: Path) -> None:
    _write(tmp_path, cows, {0: [0.1, 0.1]}, train)  # Colored MNIST decides nothing.
    (claim,) = claims(tmp_path)
    assert claim.verdict == verdict
    assert "n = 3 seeds" in claim.ours
    if max(cows) > 0.6:
        assert claim.number.endswith(f"{100 * cows[0][0]:.1f} % without a mask")


@pytest.mark.parametrize("cows", [{}, {0: [0.8]}, {0: [0.8, 0.8], 0.7: [0.95, 0.99]}])
def test_no_verdict_while_runs_are_missing(cows: Accuracies, tmp_path: Path) -> None:
    _write(tmp_path, cows, {}, pending=2)
    (claim,) = claims(tmp_path)
    done = sum(len(accuracies) + 1 for accuracies in cows.values())
    assert claim.verdict == f"pending: {done} of {done + 2} runs are done"
    assert ("no number yet" in claim.ours) == (not cows)
    assert len(draw(tmp_path).axes) == 1


@pytest.mark.parametrize("colored", [{}, {0: [0.1, 0.1]}])
def test_a_panel_per_problem_that_was_run(colored: Accuracies, tmp_path: Path) -> None:
    _write(tmp_path, {0: [0.8, 0.8], 0.7: [0.9, 0.9]}, colored)
    assert len(draw(tmp_path).axes) == 1 + len(colored)
