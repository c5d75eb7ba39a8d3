"""A slip in a config file ends in one line that names the file and the line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.configuration import searched_settings

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

EXPERIMENT = "# @package _global_\ndefaults:\n  - spirals\n"
SLIPS = {
    "indentation": (" trainer:\n  max_epochs: 1\n", "line 4, is not YAML (expected <block end>"),
    "a quote is missing": ("name: 'mine\n", "line 5, is not YAML (found unexpected end of stream)"),
    "a tab": ("trainer:\n\tmax_epochs: 1\n", "line 5, is not YAML (found character '\\t'"),
    "twice the same key": ("seed: 1\nseed: 2\n", "line 5, is not YAML (found duplicate key seed)"),
    "a strange character": (
        "name: m\x00\n",
        "character 50 is U+0000, which no text has: delete it",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("sweep", [(), ("-m",)])
def test_in_an_experiment(slip: str, sweep: tuple[str, ...], train: TrainCommand, tmp_path: Path) -> None:
    text, said = SLIPS[slip]
    path = tmp_path / "experiment" / "mine.yaml"
    path.parent.mkdir()
    path.write_text(EXPERIMENT + text)
    done = train(f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine", *sweep)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {path}")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("before", ["", "# a long file\n" * 2000])
def test_a_file_that_is_not_utf_8(before: str, train: TrainCommand, tmp_path: Path) -> None:
    path = tmp_path / "experiment" / "mine.yaml"
    path.parent.mkdir()
    path.write_bytes((EXPERIMENT + before + "name: caf\xe9\n").encode("latin-1"))
    done = train(f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine")
    line = 4 + before.count("\n")
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: {path}, line {line}, has a byte that is not UTF-8: save the file as UTF-8\n"
    )
    assert not (tmp_path / "outputs").exists()


def test_in_settings_of_a_search(
    train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results" / "mine" / "search" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("mine/mean:\n  optimizer:\n    lr: 0.1\n   seed: 1\n")
    monkeypatch.setattr(searched_settings, "RESULTS", tmp_path / "results")
    done = train("experiment=spirals", "tuned=searched/mine/mean")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {path}, line 4, is not YAML (")
    assert len(done.stderr.splitlines()) == 1
