"""A run in which nothing moved says so; one that multiplies by too large a number has diverged."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from lab.environment_task import task as environment_task
from lab.report.run_record import read_record

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


def summary_of(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return values


@pytest.mark.parametrize(
    "options",
    [
        ("aggregator=mean", "optimizer.lr=1e-300"),
        ("aggregator=mean", "optimizer=sgd", "optimizer.lr=1e-30"),
    ],
)
def test_zero_updates_are_said(
    options: tuple[str, ...], train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    done = train(*tiny, *options, f"hydra.run.dir={tmp_path / 'run'}")
    assert done.returncode == 0, done.stderr
    assert "Warning: nothing moved: after 6 steps" in done.stdout
    assert summary_of(tmp_path / "run")["warning"].startswith("nothing moved: after 6 steps")
    assert (read_record(tmp_path / "run").message or "").startswith("nothing moved")


def test_a_mask_that_keeps_nothing_is_said_also_after_going_on(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, closure=None: None)
    place = f"hydra.run.dir={tmp_path / 'run'}"
    assert train(*tiny, "trainer.evaluate_every=1", place).returncode == 0
    for name in ("done", "summary.json"):
        (tmp_path / "run" / name).unlink()
    state = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)
    torch.save(
        {**state, "epoch": 2, "n_evaluations": 2, "metrics_sha256": None}, tmp_path / "run/checkpoint.pt"
    )
    done = train(*tiny, "trainer.evaluate_every=1", place)
    assert "continuing after epoch 2" in done.stdout
    assert "nothing moved" in summary_of(tmp_path / "run")["warning"]


def test_whatever_moves_is_not_warned_of(train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path) -> None:
    assert train(*tiny, "optimizer.lr=1e-7", f"hydra.run.dir={tmp_path / 'run'}").returncode == 0
    assert "warning" not in summary_of(tmp_path / "run")


@pytest.mark.parametrize("aggregator", ["mean", "temporal_mask"])
def test_squares_that_leave_float32_are_a_divergence(
    aggregator: str,
    train: TrainCommand,
    tiny: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gradients of 1e25 are finite, and so are risks; Adam divides by an infinite root for ever."""
    risk = environment_task.RISKS["cross_entropy"]
    huge = replace(risk, function=lambda *arguments: 1e25 * risk(*arguments))
    monkeypatch.setitem(environment_task.RISKS, "cross_entropy", huge)
    options = ("optimizer=adam", f"aggregator={aggregator}", f"hydra.run.dir={tmp_path / 'run'}")
    done = train(*tiny, *options)
    assert done.returncode == 1
    assert re.search(
        r"diverged: the optimizer's \w+ is not finite after step \d, so .* no longer", done.stderr
    )
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "run" / "failed.txt").exists()


@pytest.mark.parametrize("lr", ["1e38", "3e38"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "cautious_adam"])
def test_a_rate_at_the_end_of_float32_is_one_line(
    lr: str, optimizer: str, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    place = f"hydra.run.dir={tmp_path / 'run'}"
    done = train(*tiny, "aggregator=mean", f"optimizer={optimizer}", f"optimizer.lr={lr}", place)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("Error: training diverged: ")
    assert (tmp_path / "run" / "failed.txt").read_text() in done.stderr
