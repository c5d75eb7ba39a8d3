"""Damaged results: ``make figures`` says in one line which file it is, and draws nothing from it."""

from __future__ import annotations

import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.files.checksums import SUMS, refresh

MakeFigures = Callable[..., tuple[int, str, str]]
FILES = ("spirals/demo_runs.csv", "spirals/demo_curves.csv", "coinrun/levels.npz")


@pytest.fixture
def results(root: Path, tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "results" / name, tmp_path / "results" / name)
    refresh(tmp_path / "results", [tmp_path / "results" / name for name in FILES])
    return tmp_path / "results"


@pytest.fixture
def make_figures(
    root: Path, results: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> MakeFigures:
    """Runs the script in this process."""

    def call(*names: str) -> tuple[int, str, str]:
        monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
        monkeypatch.setattr(sys, "argv", ["make_figures.py", *names, "--results", str(results)])
        status = 0
        try:
            runpy.run_path(str(root / "scripts" / "make_figures.py"), run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
        return status, *capfd.readouterr()

    return call


def emptied(content: bytes) -> bytes:
    return b""


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def doubled(content: bytes) -> bytes:
    return content * 2


def of_foreign_columns(content: bytes) -> bytes:
    return b"x,y\n1,2\n3,4\n"


def of_a_header_alone(content: bytes) -> bytes:
    return content.splitlines(keepends=True)[0]


def binary(content: bytes) -> bytes:
    return b"\xff\xfe\0" * 50


def with_one_bit_flipped(content: bytes) -> bytes:
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


DAMAGES = [emptied, cut, doubled, of_foreign_columns, of_a_header_alone, binary, with_one_bit_flipped]


def test_whole_files_are_drawn(make_figures: MakeFigures, results: Path) -> None:
    status, _, errors = make_figures("demo")
    assert (status, errors) == (0, "")
    assert (results / "spirals" / "figures" / "demo.png").exists()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_every_damage_is_named_before_anything_is_drawn(
    damage: Callable[[bytes], bytes], name: str, make_figures: MakeFigures, results: Path
) -> None:
    (results / name).write_bytes(damage((results / name).read_bytes()))
    status, said, errors = make_figures("demo")
    assert (status, said, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"Error: {results / name} was changed, according to {results / SUMS}")
    assert not any(results.glob("**/figures"))


@pytest.mark.parametrize("damage", [emptied, of_foreign_columns, binary])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("listed", [True, False])
def test_what_cannot_be_drawn_is_one_line_even_if_somebody_vouches_for_it(
    damage: Callable[[bytes], bytes], name: str, listed: bool, make_figures: MakeFigures, results: Path
) -> None:
    (results / name).write_bytes(damage((results / name).read_bytes()))
    if listed:
        refresh(results, [results / name])
    else:
        (results / SUMS).unlink()
    figure = "figure17" if name.endswith(".npz") else "demo"
    status, said, errors = make_figures(figure)
    assert (status, errors.count("\n")) == (1, 1), errors
    assert errors.startswith(f"Error: {figure} cannot be made from {results} (")
    assert name in errors
    assert ("are drawn without a check" in said) != listed
