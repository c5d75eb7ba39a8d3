"""The readings of section 3.1: the committed measurement is whole and agrees with figure 7's, the table "
"with both."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.spirals.figures.spirals_readings import tabulate
from ilc.experiments.spirals.readings import BATCHES, CORRELATIONS, READINGS


def _write(folder: Path, mechanism: dict[int, float]) -> None:
    """Two networks and a correlation for every reading's place in the list, 0.1 apart."""
    rows = [
        {"seed": seed, **reading._asdict(), "batch_of": batch, "agreement_threshold": threshold}
        | {"mechanism_correlation": mechanism.get(place, 0.9) + 0.01 * seed, "shortcut_correlation": 0.7}
        for place, reading in enumerate(READINGS)
        for batch in BATCHES
        for threshold in (0.0, 0.75)
        for seed in range(2)
    ]
    (folder / CORRELATIONS).parent.mkdir()
    pd.DataFrame(rows).to_csv(folder / CORRELATIONS, index=False)


def test_the_table_says_which_reading_has_the_published_correlation(tmp_path: Path) -> None:
    _write(tmp_path, {0: 0.39, 5: 0.1})
    table = tabulate(tmp_path)
    assert len(table) == len(READINGS) * len(BATCHES)
    assert table["as the thesis's"].tolist() == ["yes"] * 2 + ["no"] * 22
    assert table["shortcuts' larger"].tolist() == [
        "2 of 2" if i // 2 in (0, 5) else "0 of 2" for i in range(24)
    ]
    assert table["0.1 is the shortcuts'"].iloc[[0, -1]].tolist() == ["variance", "standard deviation"]


def test_the_reading_of_figure_7_is_among_them(root: Path) -> None:
    rows = pd.read_csv(root / "results" / CORRELATIONS)
    assert (
        rows.groupby([*READINGS[0]._fields, "batch_of", "agreement_threshold"]).seed.nunique() == 10
    ).all()
    assert len(rows) == 10 * len(READINGS) * len(BATCHES) * 2
    published = pd.read_csv(root / "results" / "spirals" / "correlations_revolutions.csv")
    for turns in (1.5, 2.0, 3.0):
        chosen = rows[
            (rows.shortcut_variance == 0.1) & rows.standardize_mechanism & (rows.revolutions == turns)
        ]
        chosen = chosen[(chosen.batch_of == "each") & (chosen.agreement_threshold == 0)]
        there = published[published.revolutions == turns]
        for column in ("mechanism_correlation", "shortcut_correlation"):
            assert chosen[column].tolist() == pytest.approx(there[column].tolist(), rel=1e-4)
