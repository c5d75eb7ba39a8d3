"""Asked to stop in the middle of an epoch, every experiment loses nothing and ends with the same numbers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lab import load_run
from lab.configuration.section import Section
from lab.data.environments import Environments
from lab.environment_task import EnvironmentTask
from lab.machine.stop_signals import STOPPED

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

COMMON = ("logger=none", "device=cpu", "threads=1", "trainer.evaluate_every=2")
EXPERIMENTS = {
    "spirals": (
        "dataset.n_environments=4",
        "dataset.examples_per_environment=32",
        "dataset.batch_size=8",
        "dataset.n_test=50",
        "model.hidden_units=16",
        "model.dropout=0.3",
        "trainer.max_epochs=5",
        "trainer.kept_share_by_parameter=true",
        "trainer.stop_when_memorised=false",
        "aggregator.agreement_threshold=0.2",
    ),
    "linear_sem": ("trainer.max_epochs=30", "dataset.batch_size=250"),
    "colored_mnist": (
        "dataset.source=digits",
        "dataset.examples_per_environment=200",
        "dataset.batch_size=50",
        "model.hidden_units=8",
        "trainer.max_epochs=5",
    ),
    "cifar_random_labels": (
        "dataset.source=embedded",
        "dataset.n_environments=165",
        "dataset.batch_size=40",
        "dataset.n_test=20",
        "model.width=2",
        "trainer.max_epochs=5",
    ),
    "cifar_label_noise": (
        "dataset.source=embedded",
        "dataset.n_environments=165",
        "dataset.batch_size=40",
        "dataset.n_test=20",
        "model.width=2",
        "trainer.max_epochs=5",
    ),
    "coinrun_bc": (
        "dataset.n_environments=4",
        "dataset.examples_per_environment=8",
        "dataset.batch_size=4",
        "dataset.n_test=8",
        "model.width=2",
        "trainer.max_epochs=5",
        "trainer.evaluation_examples=8",
    ),
}
MOMENTS = 10
NAMES = ("SIGTERM", "SIGUSR1", "SIGINT")
NOT_NUMBERS = ("wall_seconds", "peak_memory_mb")


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_stopped_at_ten_steps(
    experiment: str, train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (f"experiment={experiment}", *EXPERIMENTS[experiment], *COMMON, f"data_dir={tmp_path / 'data'}")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert train(*command, f"hydra.run.dir={whole}").returncode == 0
    last = json.loads((whole / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    moments = random.Random(experiment)
    take_step = EnvironmentTask.take_step
    wanted = sorted(moments.sample(range(1, last), min(MOMENTS, last - 1)))

    def take_step_and_be_asked(trained: EnvironmentTask, *arguments: object) -> None:
        take_step(trained, *arguments)  # type: ignore[arg-type]
        if wanted and trained.step == wanted[0]:
            os.kill(os.getpid(), getattr(signal, moments.choice(NAMES)))

    monkeypatch.setattr(EnvironmentTask, "take_step", take_step_and_be_asked)
    while wanted:
        stopped = train(*command, f"hydra.run.dir={broken}")
        assert stopped.returncode == STOPPED
        assert stopped.stderr.count("Run the same command again to continue") == 1
        assert torch.load(broken / "checkpoint.pt", weights_only=True)["step"] == wanted.pop(0)
    assert load_run(broken).task.step > 0
    assert train(*command, f"hydra.run.dir={broken}").returncode == 0
    assert_same_run(broken, whole)


def assert_same_run(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    one, two = (json.loads((path / "summary.json").read_text()) for path in (folder, other))
    for name in NOT_NUMBERS:
        del one[name], two[name]
    assert one == two
    states = [torch.load(path / "checkpoint.pt", weights_only=True)["model"] for path in (folder, other)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_stopped_between_epochs_at_an_evaluation(
    train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evaluation is finished and counted first."""
    evaluate = EnvironmentTask.evaluate

    def be_asked(trained: EnvironmentTask) -> dict[str, object]:
        os.kill(os.getpid(), signal.SIGUSR1)
        return evaluate(trained)

    command = ("experiment=spirals", *EXPERIMENTS["spirals"], *COMMON, f"hydra.run.dir={tmp_path / 'run'}")
    with monkeypatch.context() as patched:
        patched.setattr(EnvironmentTask, "evaluate", be_asked)
        stopped = train(*command)
    assert stopped.returncode == STOPPED
    assert "Stopped by SIGUSR1 after epoch 2, step 8" in stopped.stderr
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 1
    assert train(*command).returncode == 0


def test_stopped_before_training_began(
    train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Section.build

    def be_asked(section: Section, *arguments: Any, **options: Any) -> Any:
        if Environments in options.get("kinds", ()):
            os.kill(os.getpid(), signal.SIGTERM)
        return build(section, *arguments, **options)

    monkeypatch.setattr(Section, "build", be_asked)
    stopped = train("experiment=spirals", *EXPERIMENTS["spirals"], *COMMON, f"hydra.run.dir={tmp_path}")
    assert stopped.returncode == STOPPED
    assert "Stopped by SIGTERM: run the same command again to continue" in stopped.stderr
    assert not (tmp_path / "checkpoint.pt").exists()


def test_a_sweep_stops_too(train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on with the next run, as it would after an error."""
    take_step = EnvironmentTask.take_step

    def be_asked(trained: EnvironmentTask, *arguments: object) -> None:
        take_step(trained, *arguments)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(EnvironmentTask, "take_step", be_asked)
    stopped = train(
        "-m", *EXPERIMENTS["spirals"], *COMMON, "seed=0,1", f"hydra.sweep.dir={tmp_path / 'sweep'}"
    )
    assert stopped.returncode == STOPPED
    assert len(list((tmp_path / "sweep").rglob("checkpoint.pt"))) == 1
