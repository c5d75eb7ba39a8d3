"""A module in the folder of metrics adds its numbers to every evaluation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ilc.errors import UserError
from lab.runs.one_run import metrics

TASK: Any = SimpleNamespace(step=3, evaluate=lambda: {"train/loss": 0.5})


def add(folder: Path, name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / f"{name}.py").write_text(f"def measure(task): return {{{key!r}: float(task.step)}}\n")
    monkeypatch.setattr(metrics, "__path__", [str(folder)])


def test_without_a_module_there_is_the_tasks_own_evaluation() -> None:
    assert metrics.with_every_metric(TASK) == {"train/loss": 0.5}


def test_one_file_adds_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, "steps_so_far", "model/steps", monkeypatch)
    assert metrics.with_every_metric(TASK) == {"train/loss": 0.5, "model/steps": 3.0}


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, "another_loss", "train/loss", monkeypatch)
    with pytest.raises(
        UserError,
        match=r"the run already has a metric train/loss: rename the one that .*another_loss measures",
    ):
        metrics.with_every_metric(TASK)
