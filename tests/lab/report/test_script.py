"""``scripts/report.py`` writes one file, says what is in it and where it is, and a mistake is one line."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.figures import claims
from lab.report import committed

Report = Callable[..., tuple[int, str, str]]


@pytest.fixture
def report(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Report:
    """Runs the script in this process, in an empty folder, without claims and figures, which take seconds."""
    monkeypatch.setattr(claims, "collect", lambda results: {})
    monkeypatch.setattr(committed, "committed_figures", lambda results: [])
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
        monkeypatch.setattr(sys, "argv", ["report.py", *arguments])
        capfd.readouterr()
        status = 0
        try:
            runpy.run_path(str(root / "scripts" / "report.py"), run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
        return status, *capfd.readouterr()

    return call


def test_one_file_is_written_and_named_last(report: Report, runs: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    status, said, errors = report(str(runs), "--to", "new/own.html")
    assert (status, errors) == (0, "")
    counted, place = said.splitlines()
    assert counted.startswith("16 runs: ") and "12 done" in counted and "1 failed" in counted
    assert place == "new/own.html"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["own.html"]
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == before


@pytest.mark.parametrize("arguments", [(), ("nowhere",)])
def test_without_runs_it_says_what_to_do(arguments: tuple[str, ...], report: Report) -> None:
    status, said, errors = report(*arguments)
    assert (status, said) == (1, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1 and "name run folders" in errors


@pytest.mark.parametrize("to", [".", "..", "/", "folder", "file/x.html"])
def test_an_odd_place_is_refused_before_anything_is_read(to: str, report: Report, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    status, said, errors = report("nowhere", "--to", to)
    assert (status, said) == (1, "")
    assert errors.startswith("Error: cannot write ") and errors.count("\n") == 1 and "Name a" in errors
