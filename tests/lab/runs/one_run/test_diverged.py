"""Only a run that diverged keeps its message; every other failure can be mended and is tried again."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.runs.one_run.diverged import DivergedError, divergence
from lab.runs.one_run.run_directory import RunDirectory

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("what", ["the loss is not finite", "training diverged: the loss is not finite"])
def test_its_message_begins_alike_also_in_another_process(what: str) -> None:
    error = DivergedError(what)
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "training diverged: the loss is not finite"


def test_the_message_is_kept_until_the_run_succeeds(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path, {"name": "toy", "seed": 0})
    with pytest.raises(UserError), directory.failure_kept():
        raise UserError("no memory is left")
    assert divergence(tmp_path) is None and not (tmp_path / "failed.txt").exists()
    with pytest.raises(DivergedError), directory.failure_kept():
        raise DivergedError("the loss is not finite")
    assert divergence(tmp_path) == "training diverged: the loss is not finite"
    assert (tmp_path / "failed.txt").read_text() == f"{divergence(tmp_path)}\n"
    with directory.failure_kept():
        pass
    assert not (tmp_path / "failed.txt").exists()


@pytest.mark.parametrize("content", [b"", b"checkpoint.pt is damaged\n", b"\xff\xfe"])
def test_another_message_is_no_divergence(content: bytes, tmp_path: Path) -> None:
    """Earlier versions kept the message of every failure in this file."""
    (tmp_path / "failed.txt").write_bytes(content)
    assert divergence(tmp_path) is None


@pytest.fixture
def interrupted(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> Path:
    """A run with three evaluations and selected weights that is not done."""
    folder = tmp_path / "run"
    done = train(*tiny, "trainer.selection=test_oracle", f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    for name in ("done", "summary.json"):
        (folder / name).unlink()
    return folder


def test_damaged_and_missing_files_of_a_run_are_no_divergence(
    interrupted: Path, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    def edited(metrics: Path) -> None:
        metrics.write_text(metrics.read_text().replace('"epoch": 1', '"epoch": 9'))

    for name, damage, words in (
        ("checkpoint.pt", lambda path: path.write_bytes(path.read_bytes()[:-9]), "is damaged"),
        ("checkpoint.pt", Path.unlink, "is missing, and metrics.jsonl holds 3 evaluations"),
        ("selected.pt", Path.unlink, "is missing"),
        ("metrics.jsonl", edited, "was changed"),
    ):
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(interrupted, folder)
        damage(folder / name)
        before = (folder / "metrics.jsonl").read_bytes()
        done = train(*tiny, "trainer.selection=test_oracle", f"hydra.run.dir={folder}")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"Error: {folder / name}") and words in done.stderr
        assert f"put back a copy, or remove {folder} and give the run's command again" in done.stderr
        assert not (folder / "failed.txt").exists()
        assert (folder / "metrics.jsonl").read_bytes() == before


def test_a_run_that_was_killed_before_its_first_checkpoint_says_that_it_starts_over(
    interrupted: Path, train: TrainCommand, tiny: tuple[str, ...]
) -> None:
    metrics = interrupted / "metrics.jsonl"
    whole = metrics.read_text()
    metrics.write_text(whole.splitlines(keepends=True)[0])
    (interrupted / "checkpoint.pt").unlink()
    done = train(*tiny, "trainer.selection=test_oracle", f"hydra.run.dir={interrupted}")
    assert done.returncode == 0
    assert f"{interrupted} has an evaluation and no checkpoint: the run starts over" in done.stdout
    assert [json.loads(line)["epoch"] for line in metrics.read_text().splitlines()] == [1, 2, 3]
    assert metrics.read_text() == whole
