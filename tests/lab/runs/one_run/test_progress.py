"""The bar of a run on terminals of any width."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from lab.runs.one_run import progress
from lab.runs.one_run.progress import EpochProgress
from lab.terminal import bar as bars


@pytest.mark.parametrize("width", [80, 100, 140])
def test_count_and_time_left_are_shown(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(
        bars, "Console", lambda: Console(file=shown, width=width, force_terminal=True, color_system=None)
    )
    title = "cifar_random_labels and_mask seed 12, which is long"
    with EpochProgress(title, n_epochs=1000, start=3) as bar:
        bar.update(50, {"train/accuracy": 0.5, "test/accuracy": 0.4, "test/kl": 1.25})
    lines = shown.getvalue().replace("\r", "\n").splitlines()
    assert any("50/1000" in line and ":" in line.partition("/1000")[2] for line in lines), lines
    assert "cifar_random_labels" in shown.getvalue()
    assert "train/acc" in shown.getvalue()


def test_a_task_with_other_metrics_shows_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with EpochProgress("bandit run seed 0", n_epochs=2) as bar:
        bar.update(1, {"step": 3, "test/regret": 0.25, "train/reward": 1.0})
    assert "epoch 1 of 2  test/regret 0.250  train/reward 1.000  about" in capsys.readouterr().out


def test_the_time_left_is_that_of_the_epochs_since_the_run_continues(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = iter([100.0, 110.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    with EpochProgress("spirals", 10, start=6) as shown:
        shown.update(8, {"test/accuracy": 0.5})
    assert "epoch 8 of 10  test/accuracy 0.500  about 10 s left" in capsys.readouterr().out
