"""Asked to stop, a run ends with the same numbers. Killed: ``environment_task/test_killed.py``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lab.experiments.distillation.task import DistillationTask
from lab.machine.stop_signals import STOPPED
from lab.runs.one_run.task import Metrics

SMALL = (
    "experiment=distillation",
    "n_seeds=2",
    "batch_size=4",
    "student_steps=3",
    "teaching.n_inner=3",
    "dataset.n_train=[16,24]",
    "dataset.dimensions=6",
    "dataset.n_test=10",
    "dataset.teacher_units=[8]",
    "trainer.max_epochs=6",
    "trainer.evaluate_every=2",
    "logger=none",
    "device=cpu",
    "threads=1",
)
NAMES = ("SIGTERM", "SIGUSR1", "SIGINT")


@pytest.mark.slow
def test_stopped_after_three_epochs(
    train: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert train(*SMALL, f"hydra.run.dir={whole}").returncode == 0
    train_epoch = DistillationTask.train_epoch
    wanted = [3, 6, 15]

    def train_epoch_and_be_asked(trained: DistillationTask) -> Metrics:
        metrics = train_epoch(trained)
        if wanted and trained.step == wanted[0]:
            os.kill(os.getpid(), getattr(signal, NAMES[len(wanted) - 1]))
        return metrics

    monkeypatch.setattr(DistillationTask, "train_epoch", train_epoch_and_be_asked)
    while wanted:
        stopped = train(*SMALL, f"hydra.run.dir={broken}")
        assert stopped.returncode == STOPPED
        assert torch.load(broken / "checkpoint.pt", weights_only=True)["step"] == wanted.pop(0)
    assert train(*SMALL, f"hydra.run.dir={broken}").returncode == 0
    assert (broken / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    one, two = (json.loads((folder / "summary.json").read_text()) for folder in (broken, whole))
    for name in ("wall_seconds", "peak_memory_mb"):
        del one[name], two[name]
    assert one == two
    states = [torch.load(folder / "checkpoint.pt", weights_only=True)["model"] for folder in (broken, whole)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
