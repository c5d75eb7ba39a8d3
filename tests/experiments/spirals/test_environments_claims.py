"""The verdicts on the thesis's configuration follow the numbers, and the committed numbers are complete."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.spirals.claims.environments import configuration, environments
from ilc.experiments.spirals.environments import (
    ENVIRONMENTS,
    L2,
    READING,
    RESCALED,
    REVOLUTIONS,
    SIZE,
    THRESHOLD,
    UNANIMITY,
    masked_by_revolutions,
    masked_by_size,
    plain_runs,
    read_environments,
)

Best = dict[tuple[float, int], float]  # Best seed's test accuracy by revolutions and environments.


def _write(
    folder: Path, mean: Best, literal: Best, rescaled: Best, bare: float = 1.0, lower: Best | None = None
) -> None:
    """Two seeds each, the second one of plain training worse; ``lower``: of a lower threshold, rescaled."""
    rows = [
        {
            "aggregator": aggregator,
            REVOLUTIONS: turns,
            SIZE: size,
            RESCALED: rescale,
            L2: weight_decay,
            THRESHOLD: threshold,
            "seed": seed,
            "test/accuracy": best - (seed / 4 if aggregator == "mean" else 0),
        }
        for aggregator, rescale, weight_decay, threshold, values in (
            ("mean", None, 1e-4, None, mean),
            ("and_mask", False, 1e-4, UNANIMITY, literal),
            ("and_mask", True, 1e-4, UNANIMITY, rescaled),
            ("and_mask", True, 1e-4, 0.2, lower or {}),
            ("and_mask", False, 0.0, UNANIMITY, {(1.0, 32): bare}),
        )
        for (turns, size), best in values.items()
        for seed in range(2)
    ]
    (folder / ENVIRONMENTS).parent.mkdir()
    pd.DataFrame(rows).to_csv(folder / ENVIRONMENTS, index=False)


@pytest.mark.parametrize(
    ("mean", "masked", "verdict"),
    [
        ({32: 0.5, 1024: 1.0}, {32: 1.0, 1024: 1.0}, "reproduced with 1.5 revolutions"),
        ({32: 0.5, 256: 1.0}, {32: 1.0, 256: 1.0}, "reproduced with 1.5 revolutions, at another number"),
        ({32: 0.5, 1024: 0.6}, {32: 1.0, 1024: 1.0}, "not reproduced: the baseline never does"),
        ({32: 1.0, 1024: 1.0}, {32: 0.5, 1024: 1.0}, "not reproduced"),
        ({32: 0.5, 1024: 1.0}, {32: 0.5, 1024: 0.5}, "not reproduced"),
    ],
)
def test_how_many_environments(
    mean: dict[int, float], masked: dict[int, float], verdict: str, tmp_path: Path
) -> None:
    _write(
        tmp_path,
        {**{(READING, size): best for size, best in mean.items()}, (3.0, 1024): 0.5},
        {(READING, 2): 1.0},
        {**{(READING, size): best for size, best in masked.items()}, (1.0, 4): 1.0},
        lower={(READING, 2): 0.5, (READING, 16): 1.0},  # Decides nothing, but is told.
    )
    claim = environments(read_environments(tmp_path))
    assert claim.verdict == verdict
    assert "3: never up to 1,024" in claim.ours
    reached = ", ".join(f"{size:,}" for size, best in masked.items() if best == 1) or "none"
    assert f"threshold 0.2 at 16; threshold 1 at {reached} of 2, 16, 32, " in claim.ours


@pytest.mark.parametrize(
    ("literal", "rescaled", "verdict"),
    [
        ({1.0: 1.0, 3.0: 0.5}, {1.0: 1.0, 2.0: 0.995}, "up to 1 revolution, up to 2 revolutions if rescaled"),
        ({1.0: 0.9}, {1.5: 1.0, 3.0: 0.5}, "up to 1.5 revolutions if rescaled"),
        ({1.0: 0.98, 3.0: 0.5}, {3.0: 0.5}, "not reproduced"),
    ],
)
def test_how_many_revolutions(
    literal: dict[float, float], rescaled: dict[float, float], verdict: str, tmp_path: Path
) -> None:
    # Other numbers of environments, and runs without L2, decide nothing here.
    _write(
        tmp_path,
        {(1.0, 32): 0.5},
        {**{(turns, 32): best for turns, best in literal.items()}, (4.0, 64): 1.0},
        {(turns, 32): best for turns, best in rescaled.items()},
        bare=0.6,
        lower={(2.5, 32): 1.0},
    )
    claim = configuration(read_environments(tmp_path))
    assert claim.verdict.removeprefix("reproduced ") == verdict
    assert "without L2: 60.0 (60.0 to 60.0)" in claim.ours


def test_committed_runs_are_complete(root: Path) -> None:
    runs = read_environments(root / "results")
    plain = plain_runs(runs, READING).groupby(SIZE).seed.nunique()
    assert plain.to_dict() == {2**i: 5 for i in range(1, 11)}
    masked = masked_by_size(runs)
    for threshold in (UNANIMITY, 0.6, 0.2):
        counts = masked[masked[THRESHOLD] == threshold].groupby(SIZE).seed.nunique()
        assert counts.to_dict() == plain.to_dict()
    for rescaled in (False, True):
        counts = masked_by_revolutions(runs, rescaled).groupby(REVOLUTIONS).seed.nunique()
        assert counts.to_dict() == dict.fromkeys((1.0, 1.5, 2.0, 3.0), 5)
    for turn in (1, 1.5, 2, 3):
        counts = plain_runs(runs, turn).groupby(SIZE).seed.nunique()
        assert counts[[128, 256, 512, 1024]].tolist() == [5] * 4
    assert runs.command.str.contains("tuned=published/spirals").all()
