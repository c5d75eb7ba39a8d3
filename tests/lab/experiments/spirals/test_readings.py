"""The readings of section 3.1: the committed measurement is whole and agrees with figure 7's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.spirals.readings import BATCHES, CHOSEN, CORRELATIONS, READINGS


def test_the_reading_of_figure_7_is_among_them(root: Path) -> None:
    rows = pd.read_csv(root / "results" / CORRELATIONS)
    assert (
        rows.groupby([*READINGS[0]._fields, "batch_of", "agreement_threshold"]).seed.nunique() == 10
    ).all()
    assert len(rows) == 10 * len(READINGS) * len(BATCHES) * 2
    of_figure = pd.read_csv(root / "results" / "spirals" / "correlations.csv")
    of_figure = of_figure[(of_figure.parameters == "all") & (of_figure["mask"] == "and_mask")]
    chosen = rows[
        (rows.shortcut_variance == 0.1)
        & rows.standardize_mechanism
        & (rows.revolutions == CHOSEN.revolutions)
    ]
    for threshold in (0.0, 0.75):
        mine = chosen[(chosen.batch_of == "each") & (chosen.agreement_threshold == threshold)]
        there = of_figure[of_figure.agreement_threshold == threshold]
        for column in ("mechanism_correlation", "shortcut_correlation"):
            assert mine[column].tolist() == pytest.approx(there[column].tolist(), rel=1e-4)
