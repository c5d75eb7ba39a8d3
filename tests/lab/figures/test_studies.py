"""Hours are those that runs recorded, and every study stands in the table of one experiment."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pytest

from lab.figures.discovery import experiments
from lab.figures.studies import hours, studies


@pytest.fixture(scope="module")
def tables(root: Path) -> dict[str, pd.DataFrame]:
    return hours(root / "results")


def named(table: pd.DataFrame) -> list[str]:
    return [re.findall(r"`(\w+)`", cell)[0] for cell in table.study]


def test_every_study_with_committed_files_is_in_one_table(tables: dict[str, pd.DataFrame]) -> None:
    assert set(tables) <= {*experiments()}
    found = [name for table in tables.values() for name in named(table)]
    assert len(found) == len(set(found))
    assert set(found) <= studies().keys()
    assert len(found) > 20


def test_hours_add_up_to_those_in_the_files(tables: dict[str, pd.DataFrame], root: Path) -> None:
    """All of them, each once: trials of a search are runs too."""
    seconds = 0.0
    for path in sorted((root / "results").rglob("*.csv")):
        with path.open(newline="") as file:
            seconds += sum(float(row.get("wall_seconds") or 0) for row in csv.DictReader(file))
    shown = sum(float(cell) for table in tables.values() for cell in table["hours, recorded"] if cell)
    assert shown == pytest.approx(seconds / 3600, rel=0.02)


def test_a_measurement_has_the_hours_that_it_says_and_a_file_that_is_not_there_none(tmp_path: Path) -> None:
    (tmp_path / "spirals").mkdir()
    (tmp_path / "spirals" / "readings_correlations.csv").write_text("x\n1\n")
    (tmp_path / "coinrun" / "expert_hard").mkdir(parents=True)
    (tmp_path / "coinrun" / "expert_hard" / "curve.csv").write_text("frames,wall_seconds\n1,\n2,7200\n")
    runs = tmp_path / "spirals" / "demo_runs.csv"
    runs.write_text("seed,wall_seconds\n0,3600\n1,1800\n2,\n")
    found = hours(tmp_path)
    table, expert = found["spirals"], found["coinrun"]
    assert named(expert) == ["coinrun_expert_hard"]
    assert expert["hours, recorded"].tolist() == ["2"]
    assert expert.runs.tolist() == [""]
    assert named(table) == ["gradient_readings", "spirals_demo"]
    assert table["hours, recorded"].tolist() == ["", "1.5"]
    assert table.runs.tolist() == ["", "3"]
