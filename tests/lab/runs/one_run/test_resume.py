"""A run killed at any moment continues to the same numbers, bit for bit."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

# Dropout and random batches, so that every generator's state matters.
OPTIONS = (
    "trainer.max_epochs=40",
    "trainer.stop_when_memorised=false",
    "model.dropout=0.3",
    "optimizer.lr=3e-3",
    "aggregator.agreement_threshold=0.2",
)
NOT_NUMBERS = ("wall_seconds", "peak_memory_mb")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, root: Path, tiny: tuple[str, ...]) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    command = [sys.executable, str(root / "src" / "train.py"), *tiny, *OPTIONS, f"hydra.run.dir={folder}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return folder


def assert_same_run(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    one, two = (json.loads((path / "summary.json").read_text()) for path in (folder, other))
    assert {k: v for k, v in one.items() if k not in NOT_NUMBERS} == {
        k: v for k, v in two.items() if k not in NOT_NUMBERS
    }
    states = [torch.load(path / "checkpoint.pt", weights_only=True)["model"] for path in (folder, other)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.slow
def test_killed_at_random_moments(
    uninterrupted: Path, root: Path, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, str(root / "src" / "train.py"), *tiny, *OPTIONS, f"hydra.run.dir={folder}"]
    moments = random.Random(0)
    kills = 0
    # Each try gets a few evaluations further than the last, then dies at an arbitrary instant.
    for goal in (1, 9, 17, 25):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            metrics = folder / "metrics.jsonl"
            if metrics.exists() and len(metrics.read_bytes().splitlines()) >= goal:
                time.sleep(moments.uniform(0, 0.02))
                break
            time.sleep(0.002)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        assert not (folder / "summary.json").exists() or (folder / "done").exists()
    assert kills >= 3
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert_same_run(folder, uninterrupted)
    assert {path.name for path in folder.iterdir() if not path.name.endswith(".part")} == {
        path.name for path in uninterrupted.iterdir()
    }


def test_killed_between_evaluation_and_checkpoint(
    uninterrupted: Path, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """The evaluation that no checkpoint counts is made again, not kept twice."""
    folder = tmp_path / "run"
    assert train(*tiny, *OPTIONS, "trainer.max_epochs=40", f"hydra.run.dir={folder}").returncode == 0
    (folder / "done").unlink()
    (folder / "summary.json").unlink()
    with (folder / "metrics.jsonl").open("a") as metrics:
        metrics.write('{"step": 999, "epoch": 41}\n')
    assert train(*tiny, *OPTIONS, f"hydra.run.dir={folder}").returncode == 0
    assert_same_run(folder, uninterrupted)


@pytest.fixture
def interrupted(uninterrupted: Path, tmp_path: Path) -> Path:
    """A run with a good checkpoint that is not done."""
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted, folder)
    (folder / "done").unlink()
    (folder / "summary.json").unlink()
    return folder


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_checkpoint_is_named_and_left_alone(
    share: float, interrupted: Path, train: TrainCommand, tiny: tuple[str, ...]
) -> None:
    checkpoint = interrupted / "checkpoint.pt"
    content = checkpoint.read_bytes()[: int(share * checkpoint.stat().st_size)]
    checkpoint.write_bytes(content)
    done = train(*tiny, *OPTIONS, f"hydra.run.dir={interrupted}")
    assert done.returncode == 1
    assert str(checkpoint) in done.stderr
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert checkpoint.read_bytes() == content


@pytest.mark.slow
def test_a_full_disk_leaves_the_previous_checkpoint(
    interrupted: Path, train_apart: TrainCommand, tiny: tuple[str, ...]
) -> None:
    """A limit on the size of files stands for the disk: the kernel refuses the write alike."""
    checkpoint = interrupted / "checkpoint.pt"
    state = torch.load(checkpoint, weights_only=True)
    lines = (interrupted / "metrics.jsonl").read_text().splitlines(keepends=True)
    state["epoch"] -= 5
    state["n_evaluations"] -= 5
    del state["metrics_sha256"]  # As before 0.3.
    torch.save(state, checkpoint)
    before = checkpoint.read_bytes()

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = len(before) // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = train_apart(*tiny, *OPTIONS, f"hydra.run.dir={interrupted}", preexec_fn=small_files)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert checkpoint.read_bytes() == before
    assert not list(interrupted.glob(".*.part"))
    assert len(lines) == 40


def test_a_checkpoint_of_another_experiment_is_refused(
    interrupted: Path, train: TrainCommand, tiny: tuple[str, ...]
) -> None:
    done = train(*tiny, *OPTIONS, "optimizer.lr=0.5", f"hydra.run.dir={interrupted}")
    assert done.returncode == 1
    assert "differs in optimizer.lr" in done.stderr


def test_metrics_that_lost_lines_are_refused(
    interrupted: Path, train: TrainCommand, tiny: tuple[str, ...]
) -> None:
    metrics = interrupted / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:10]))
    done = train(*tiny, *OPTIONS, f"hydra.run.dir={interrupted}")
    assert done.returncode == 1
    assert "holds 10 evaluations" in done.stderr
