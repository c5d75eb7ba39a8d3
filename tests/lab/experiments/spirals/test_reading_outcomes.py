"""What counts as a published result, reading by reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.spirals.figures.spirals_readings import tabulate
from lab.experiments.spirals.reading_outcomes import COUNTED, Outcome, read_outcomes
from lab.experiments.spirals.readings import (
    AND_MASK_RUNS,
    BATCHES,
    CORRELATIONS,
    MANY_ENVIRONMENTS,
    PLAIN_EACH_RUNS,
    PLAIN_RUNS,
    READINGS,
    Reading,
)


def _write(
    folder: Path,
    correlation: Callable[[Reading, str], float],
    masked: Callable[[Reading, int, bool], float],
    plain: Callable[[Reading, str, int], float],
) -> None:
    """Two networks and two seeds, of which the second is a little worse."""

    def settings(reading: Reading, prefix: str) -> dict[str, object]:
        return {f"{prefix}{name}": value for name, value in reading._asdict().items()}

    tables = {
        CORRELATIONS: [
            {**settings(reading, ""), "seed": seed, "batch_of": batch, "agreement_threshold": threshold}
            | {"mechanism_correlation": correlation(reading, batch) + 0.01 * seed if not threshold else 0.4}
            for reading in READINGS
            for batch in BATCHES
            for threshold in (0.0, 0.75)
            for seed in range(2)
        ],
        AND_MASK_RUNS: [
            {**settings(reading, "dataset."), "dataset.batch_size": size, "aggregator.rescale": rescaled}
            | {"seed": seed, "test/accuracy": masked(reading, size, rescaled) - 0.004 * seed}
            for reading in READINGS
            for size in (128, 4)
            for rescaled in (False, True)
            for seed in range(2)
        ],
        PLAIN_EACH_RUNS: [
            {**settings(reading, "dataset."), "dataset.n_environments": size, "seed": seed}
            | {"test/accuracy": plain(reading, "each", size) - 0.1 * seed}
            for reading in READINGS
            for size in MANY_ENVIRONMENTS
            for seed in range(2)
        ],
        PLAIN_RUNS: [
            {**settings(reading, ""), "n_environments": size, "seed": seed, "epoch": epoch}
            | {"test/accuracy": 1.0 if epoch == 50 else plain(reading, "all", size) - 0.1 * seed}
            for reading in READINGS
            for size in MANY_ENVIRONMENTS
            for seed in range(2)
            for epoch in (50, 100)
        ],
    }
    for path, rows in tables.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(folder / path, index=False)


def _of(outcomes: list[Outcome], reading: Reading, batch: str) -> Outcome:
    (found,) = (one for one in outcomes if (one.reading, one.counted) == (reading, batch))
    return found


def test_three_published_results_are_counted(tmp_path: Path) -> None:
    chosen = Reading(0.01, True, 2.0)
    _write(
        tmp_path,
        lambda reading, batch: 0.395 if (reading, batch) == (chosen, "each") else 0.6,
        lambda reading, size, rescaled: 1.0 if (reading, size, rescaled) == (chosen, 128, True) else 0.5,
        lambda reading, batch, size: 1.0 if (reading, batch) == (chosen, "each") and size == 1024 else 0.5,
    )
    outcomes = read_outcomes(tmp_path)
    assert len(outcomes) == len(READINGS) * len(COUNTED)
    assert {(one.reading, one.counted): one.reproduced for one in outcomes if one.reproduced} == {
        (chosen, "each"): 3,
        (chosen, "own"): 2,  # plain training then sees 128 examples in all
    }
    whole = _of(outcomes, chosen, "each")
    assert (whole.correlates, whole.is_perfect, whole.first) == (True, True, 1024)
    assert whole.as_published.tolist() == pytest.approx([0.5, 0.496])
    table = tabulate(tmp_path)
    assert table["published results"].tolist().count("3 of 3") == 1


def test_plain_training_that_finds_it_sooner_or_never_is_not_as_published(tmp_path: Path) -> None:
    _write(
        tmp_path,
        lambda reading, batch: 0.6,
        lambda reading, size, rescaled: 0.98,
        lambda reading, batch, size: 1.0 if batch == "all" and size >= 512 else 0.9,
    )
    outcomes = read_outcomes(tmp_path)
    assert {one.first for one in outcomes if one.counted in ("all", "own")} == {512}
    assert {one.first for one in outcomes if one.counted == "each"} == {None}
    assert {one.reproduced for one in outcomes} == {0}
