"""Folders that vanish under a run, and tables that nobody could write: one true line each."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ilc.errors import UserError
from lab.environment_task import EnvironmentTask
from lab.runs.tables.export import as_files

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_run_whose_folder_was_removed_says_so(
    epoch: int, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, epochs = tmp_path / "run", []
    train_epoch = EnvironmentTask.train_epoch

    def then_remove(task: EnvironmentTask) -> Any:
        epochs.append(1)
        if len(epochs) == epoch:
            shutil.rmtree(folder)
        return train_epoch(task)

    monkeypatch.setattr(EnvironmentTask, "train_epoch", then_remove)
    done = train(*tiny, "trainer.evaluate_every=1", f"hydra.run.dir={folder}")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: cannot write ") and done.stderr.count("\n") == 1
    assert f"The folder {folder} no longer exists" in done.stderr and "room" not in done.stderr
    assert not folder.exists()


@pytest.fixture
def run_many(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs the script in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
        monkeypatch.setattr(sys, "argv", ["run_many.py", *arguments])
        status = 0
        try:
            runpy.run_path(str(root / "scripts" / "run_many.py"), run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
        return status, *capfd.readouterr()

    return call


@pytest.mark.parametrize("to", [".", "..", "/", "file/x"])
def test_odd_tables_are_refused_before_anything_is_trained(to: str, run_many: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    status, said, errors = run_many("experiment=spirals", "seed=0", "--to", to)
    assert (status, said) == (1, "")
    assert errors.startswith("Error: cannot write ") and errors.count("\n") == 1
    assert not (tmp_path / "outputs").exists()


def test_a_billion_runs_are_refused_at_once(run_many: Any) -> None:
    status, _, errors = run_many("experiment=spirals", "seed=range(0,1000000000)")
    assert (status, errors.count("\n")) == (1, 1)
    assert "name 1,000,000,000 runs, but one command makes at most" in errors


def test_tables_have_a_name() -> None:
    for prefix in (Path(), Path("..")):
        with pytest.raises(UserError, match="Add the beginning of their file names"):
            as_files(None, None, prefix)  # type: ignore[arg-type]
