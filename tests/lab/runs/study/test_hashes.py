"""A study lists the hashes of what it writes, and nothing but those."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.files.checksums import SUMS, check
from lab.runs.tables.export import write_results_files

NAMES = ("b.csv", "a/x.csv", "a/x.npz", "tuned/best.yaml")


def files(folder: Path, text: str) -> dict[Path, bytes]:
    return {folder / name: f"{name} {text}\n".encode() for name in NAMES}


def test_what_is_written_is_listed_and_listed_again(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert write_results_files(files(results, "first"), results) == list(files(results, "first"))
    first = (results / SUMS).read_text()
    assert [line.split("  ")[1] for line in first.splitlines()] == ["a/x.csv", "a/x.npz", "b.csv"]
    assert check(results) == 3
    # Whatever somebody did to a file, the study that writes it again makes the list whole.
    (results / "b.csv").write_text("damaged")
    write_results_files({results / "b.csv": b"b.csv first\n"}, results)
    assert (results / SUMS).read_text() == first
    write_results_files({results / "b.csv": b"b.csv second\n"}, results)
    assert check(results) == 3 and (results / SUMS).read_text() != first


def test_files_elsewhere_and_none_at_all_leave_the_list_alone(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_results_files(files(tmp_path / "elsewhere", "x"), results)
    write_results_files({}, results)
    assert not results.exists()
    assert not list(tmp_path.rglob(SUMS))


def test_links_to_the_folder_are_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    write_results_files({Path("link/x.csv"): b"x"}, tmp_path / "results")
    assert check(Path("results")) == check(tmp_path / "link") == 1
