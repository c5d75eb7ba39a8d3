"""What results/README.md says of every table of runs is true of every committed one."""

from __future__ import annotations

import csv
from pathlib import Path

from lab.files.stopped_column import PENDING, STOPPED


def test_every_run_has_its_command_and_all_but_planned_ones_a_commit(root: Path) -> None:
    planned = 0
    for path in sorted((root / "results").rglob("*_runs.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                assert row["command"], path
                assert (row[STOPPED] == PENDING) == (not row.get("git_commit")), path
                planned += row[STOPPED] == PENDING
    text = " ".join((root / "results" / "README.md").read_text().split())
    said = "A row with `pending` in the column `stopped` is a planned run: it has the command alone."
    assert (said in text) == (planned > 0)
