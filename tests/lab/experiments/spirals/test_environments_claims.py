"""The verdicts on the thesis's configuration follow the numbers, and the committed numbers are complete."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.spirals.claims.environments import configuration, environments
from lab.experiments.spirals.environments import MASKED, PLAIN, SIZES, UNANIMITY, read_environments
from lab.experiments.spirals.reading_outcomes import Outcome
from lab.experiments.spirals.readings import CHOSEN, PLAIN_STEPS, READINGS, Reading

Best = dict[int, float]  # Best seed's test accuracy by number of environments.


def _write(folder: Path, plain: Best, unanimous: Best, lower: Best) -> None:
    """Two seeds each, of which the second is worse; plain training was better on the way."""
    rows = [
        {"n_environments": size, "seed": seed, "epoch": epoch, "test/accuracy": test}
        for size, best in plain.items()
        for seed in range(2)
        for epoch, test in ((50, 1.0), (100, best - seed / 4))
    ]
    masked = [
        {"dataset.n_environments": size, "aggregator.agreement_threshold": threshold, "seed": seed}
        | {"test/accuracy": best - seed / 4}
        for threshold, values in ((UNANIMITY, unanimous), (0.2, lower))
        for size, best in values.items()
        for seed in range(2)
    ]
    (folder / PLAIN).parent.mkdir()
    pd.DataFrame(rows).to_csv(folder / PLAIN, index=False)
    pd.DataFrame(masked).to_csv(folder / MASKED, index=False)


@pytest.mark.parametrize(
    ("plain", "unanimous", "verdict"),
    [
        ({32: 0.5, 1024: 1.0}, {32: 1.0, 1024: 1.0}, "reproduced with 2 revolutions"),
        (
            {32: 0.5, 256: 1.0},
            {32: 1.0, 256: 1.0},
            "reproduced with 2 revolutions, with another number of environments",
        ),
        (
            {32: 0.5, 1024: 0.6},
            {32: 1.0, 1024: 1.0},
            "not reproduced: plain training never finds the mechanism",
        ),
        ({32: 1.0, 1024: 1.0}, {32: 0.5, 1024: 1.0}, "not reproduced"),
        ({32: 0.5, 1024: 1.0}, {32: 0.5, 1024: 0.5}, "not reproduced"),
    ],
)
def test_how_many_environments(plain: Best, unanimous: Best, verdict: str, tmp_path: Path) -> None:
    _write(tmp_path, plain, unanimous, {2: 0.5, 16: 1.0})  # A lower threshold decides nothing, but is told.
    claim = environments(*read_environments(tmp_path))
    assert claim.verdict == verdict
    reached = ", ".join(f"{size:,}" for size, best in unanimous.items() if best == 1) or "none"
    assert f": 16 with threshold 0.2; {reached} with threshold 1. We tried 2, 16, 32, " in claim.ours


def _outcome(reading: Reading, counted: str, literal: list[float], rescaled: list[float]) -> Outcome:
    return Outcome(reading, counted, pd.Series([0.5]), pd.Series(literal), pd.Series(rescaled), {})


@pytest.mark.parametrize(
    ("literal", "rescaled", "verdict"),
    [
        ([1.0, 0.99], [0.5, 0.5], "reproduced"),
        ([1.0, 0.5], [1.0, 1.0], "in part: 1 of 2 seeds"),
        ([0.5, 0.5], [1.0, 1.0], "in part: with rescaled updates in 2 of 2 seeds"),
        ([0.5, 0.5], [0.8, 1.0], "in part: with rescaled updates in 1 of 2 seeds"),
        ([0.5, 0.5], [0.5, 0.98], "not reproduced"),
    ],
)
def test_whether_the_best_configuration_is_perfect(
    literal: list[float], rescaled: list[float], verdict: str
) -> None:
    others = [
        _outcome(reading, counted, [1.0, 1.0], [1.0, 1.0])
        for reading in READINGS
        for counted in ("each", "all")
        if (reading, counted) != (CHOSEN, "each")
    ]
    claim = configuration([*others, _outcome(CHOSEN, "each", literal, rescaled)])
    assert claim.verdict == verdict
    perfect = len(READINGS) - 1 + (pd.Series(literal).median() >= 0.99)
    assert f"perfect under {perfect} of {len(READINGS)} readings" in claim.ours


def test_committed_runs_are_complete(root: Path) -> None:
    plain, masked = read_environments(root / "results")
    assert plain.groupby("n_environments").seed.nunique().to_dict() == dict.fromkeys(SIZES, 5)
    for _, runs in masked.groupby("threshold"):
        assert runs.groupby("n_environments").seed.nunique().to_dict() == dict.fromkeys(SIZES, 5)
    assert set(masked.step) == {930}
    assert set(masked.stopped) == {"completed"}
    assert PLAIN_STEPS == 30_000
    assert set(plain.revolutions) == {CHOSEN.revolutions}
    assert masked.command.str.contains("tuned=published/spirals").all()
    assert masked.command.str.contains(f"dataset.revolutions={CHOSEN.revolutions}").all()
