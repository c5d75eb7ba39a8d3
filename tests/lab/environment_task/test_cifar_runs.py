"""The experiments of section 3.2 as commands, on the images that come with the project."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.environment_task import EnvironmentTask
from lab.machine.stop_signals import STOPPED, Stopped

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = (
    "dataset.source=embedded",
    "dataset.n_environments=165",
    "dataset.n_test=20",
    "model.width=2",
    "trainer.max_epochs=4",
    "trainer.evaluate_every=1",
    "logger=none",
    "device=cpu",
    "threads=1",
)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_random_labels(train: TrainCommand, tmp_path: Path) -> None:
    done = train("experiment=cifar_random_labels", *SMALL, f"hydra.run.dir={tmp_path / 'run'}")
    assert done.returncode == 0, done.stderr
    assert "data: Fashion-MNIST (the part that is embedded), 165 for training" in done.stdout
    assert "CIFAR" not in done.stdout.replace("cifar_random_labels", "")
    last = lines(tmp_path / "run")[-1]
    assert last["step"] == 4 * (165 // 80)
    assert 0 < last["mask/density"] < 1


def test_label_noise_reports_the_mislabelled_part(train: TrainCommand, tmp_path: Path) -> None:
    done = train(
        "experiment=cifar_label_noise", "aggregator=mean", *SMALL, f"hydra.run.dir={tmp_path / 'run'}"
    )
    assert done.returncode == 0, done.stderr
    for line in lines(tmp_path / "run"):
        wrong, right, both = (line[f"train/accuracy{part}"] for part in ("_mislabeled", "_labeled", ""))
        assert min(wrong, right) <= both <= max(wrong, right)


@pytest.mark.parametrize(
    "options", [("gradients=per_example_loss", "trainer.max_epochs=1"), ("model.norm=group",)]
)
def test_the_other_vote_and_the_other_norm(
    train: TrainCommand, tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "run"
    done = train("experiment=cifar_random_labels", *SMALL, *options, f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    assert (folder / "done").exists()


@pytest.mark.slow
def test_an_interrupted_run_continues_with_the_same_numbers(
    train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert train("experiment=cifar_random_labels", *SMALL, f"hydra.run.dir={whole}").returncode == 0
    train_epoch = EnvironmentTask.train_epoch

    def break_off(task: EnvironmentTask) -> dict[str, Any]:
        if task.scheduler.last_epoch == 2:
            raise Stopped
        return train_epoch(task)

    command = ("experiment=cifar_random_labels", *SMALL, f"hydra.run.dir={broken}")
    monkeypatch.setattr(EnvironmentTask, "train_epoch", break_off)
    assert train(*command).returncode == STOPPED
    monkeypatch.setattr(EnvironmentTask, "train_epoch", train_epoch)
    assert "continuing after epoch 2" in train(*command).stdout
    assert lines(whole) == lines(broken)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("dataset.batch_size=200",),
            "must lie between 1 and the number of examples = 165",
        ),
        (
            ("dataset.source=cifar",),
            "dataset.source must be one of auto, cifar10, cifar10_jpeg, fashion_mnist, embedded",
        ),
        (("dataset.label_noise=2",), "label_noise must be a share"),
        (("model.norm=layer",), "norm in batch, group"),
        (("gradients=per_examples",), "gradients must be one of"),
    ],
)
def test_bad_options(train: TrainCommand, options: tuple[str, ...], message: str) -> None:
    done = train("experiment=cifar_random_labels", *SMALL, *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
