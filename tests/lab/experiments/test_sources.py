"""Real images alone: no committed number rests on generated images or on scikit-learn's digits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

RESULTS = Path(__file__).parents[3] / "results"
STAND_INS = "procedural|scikit-learn"
OWN_QUESTIONS = {"lora_domains", "wrong_labels"}
"""They repeat no experiment of a source, so scikit-learn's digits stand for no other images there."""
WITH_SOURCE = [
    path
    for path in sorted(RESULTS.rglob("*.csv"))
    if "data_source" in pd.read_csv(path, nrows=0).columns and OWN_QUESTIONS.isdisjoint(path.parts)
]


def test_most_tables_of_runs_name_their_source() -> None:
    assert len(WITH_SOURCE) > 20


@pytest.mark.parametrize("path", WITH_SOURCE, ids=lambda path: str(path.relative_to(RESULTS)))
def test_no_number_rests_on_a_stand_in(path: Path) -> None:
    sources = pd.read_csv(path, usecols=["data_source"]).data_source.dropna().unique()
    assert [source for source in sources if pd.Series([source]).str.contains(STAND_INS)[0]] == []


@pytest.mark.parametrize("table", sorted(RESULTS.glob("**/tables/*.md")), ids=lambda path: path.stem)
def test_no_table_names_one(table: Path) -> None:
    assert not pd.Series([table.read_text()]).str.contains(STAND_INS + "|colored digits", case=False)[0]
