"""Tables go into a pipe a row per line, and onto a terminal as wide as it is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from rich.table import Table

from lab.runs.study.study_file import study_names
from lab.terminal.printed_table import print_table

WORDS = " ".join(["word"] * 100)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a table with two long rows."""
    table = Table("name", "words")
    for name in ("first", "second"):
        table.add_row(name, WORDS)
    print_table(table)
    return capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)


def test_without_a_terminal_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = [line for line in printed(capsys) if "word" in line.replace("words", "")]
    assert "first" in first and "second" in second and WORDS in first and WORDS in second


def test_on_a_terminal_no_line_is_wider(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in printed(capsys)]
    assert max(map(len, lines)) <= 60 and "".join(lines).count("word ") > 100


def test_the_list_of_studies_has_a_line_each(
    root: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "--list"])
    runpy.run_path(str(root / "scripts" / "study.py"), run_name="__main__")
    rows = [line for line in capfd.readouterr().out.splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == study_names()
