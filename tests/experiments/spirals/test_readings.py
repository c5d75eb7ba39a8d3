"""The readings of section 3.1: the committed measurement is whole and agrees with figure 7's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.spirals.readings import BATCHES, CORRELATIONS, READINGS


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
