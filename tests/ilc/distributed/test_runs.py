"""Runs in two and three processes report what one process reports, and go on after whatever ends them."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import gang
import pytest
import torch

from lab.configuration.compose import compose_experiment
from lab.machine.stop_signals import STOPPED

TINY = (
    "dataset.n_environments=7",
    "dataset.examples_per_environment=32",
    "dataset.batch_size=16",
    "dataset.n_test=51",
    "model.hidden_units=16",
    "trainer.max_epochs=10",
    "trainer.evaluate_every=5",
    "trainer.stop_when_memorised=false",
    "logger=none",
    "device=cpu",
    "~tuned",
)
IMAGES = (
    "experiment=cifar_random_labels",
    "dataset.source=embedded",
    "dataset.image_size=14",
    "dataset.n_environments=47",
    "dataset.batch_size=23",
    "dataset.n_test=20",
    "model.width=2",
    "trainer.max_epochs=10",
    "trainer.evaluate_every=5",
    "logger=none",
    "device=cpu",
)
METHODS = {
    "and_mask": (*TINY, "aggregator=and_mask", "aggregator.agreement_threshold=0.4"),
    "geometric_mean": (*TINY, "aggregator=geometric_mean", "aggregator.agreement_threshold=0.4"),
    "xor_mask": (*TINY, "aggregator=xor_mask", "aggregator.agreement_threshold=0.4"),
    "mean": (*TINY, "aggregator=mean"),
    "irm_penalty": (*TINY, "aggregator=irm_penalty"),
    "dann": (*TINY, "aggregator=dann", "model=dann"),
    # One environment per step: split into examples.
    "temporal_mask": (
        *TINY,
        "aggregator=temporal_mask",
        "aggregator.agreement_threshold=0.2",
        "trainer.max_epochs=3",
        "trainer.evaluate_every=2",
    ),
    # No mask and no Adam: before BatchNorm a bias has a gradient of rounding alone, which both magnify.
    "batch_norm": (*TINY, "aggregator=mean", "model.batch_norm=true", "optimizer=sgd"),
    "votes_per_example": (*IMAGES, "model.norm=group"),
}
NOT_NUMBERS = ("wall_seconds", "peak_memory_mb")


@pytest.fixture(scope="module")
def contents() -> dict[str, dict[str, Any]]:
    return {name: compose_experiment(overrides) for name, overrides in METHODS.items()}


@pytest.fixture(scope="module")
def alone(contents: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    gang.together(1, folder / "results", gang.train_all, contents, folder)
    return folder


def evaluations(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_metrics_are_those_of_one_process(
    size: int, contents: dict[str, dict[str, Any]], alone: Path, tmp_path: Path
) -> None:
    """After 20 steps, in single precision; one process writes."""
    gang.together(size, tmp_path / "results", gang.train_all, contents, tmp_path)
    for name in METHODS:
        ours, theirs = evaluations(tmp_path / name), evaluations(alone / name)
        assert theirs[-1]["step"] >= 20
        assert len(ours) == 2
        assert ours == [pytest.approx(row, abs=1e-5) for row in theirs], name
        assert (tmp_path / name / "done").exists()
        assert not list((tmp_path / name).glob(".*.part"))
        assert json.loads((tmp_path / name / "provenance.json").read_text())["processes"] == size


# Dropout, so that every process's random numbers matter.
LONG = compose_experiment(
    (*METHODS["and_mask"], "trainer.max_epochs=80", "trainer.evaluate_every=2", "model.dropout=0.3")
)
LAST_STEP = 160


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In two processes."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    said = folder.with_name("said.txt")
    assert gang.wait(gang.start(2, gang.train, LONG, folder, said)) == [0, 0], said.read_text()
    return folder


def assert_same_run(folder: Path, other: Path, **tolerance: float) -> None:
    ours, theirs = evaluations(folder), evaluations(other)
    if not tolerance:
        assert ours == theirs
    assert ours == [pytest.approx(row, **tolerance) for row in theirs]
    states = [torch.load(path / "checkpoint.pt", weights_only=True)["model"] for path in (folder, other)]
    if not tolerance:
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def begin(folder: Path, said: Path, wait: float, size: int = 2) -> list[ForkServerProcess]:
    """Start the run, and wait until it has evaluated once more and a moment longer."""
    metrics = folder / "metrics.jsonl"
    before = len(metrics.read_bytes().splitlines()) if metrics.exists() else 0
    processes = gang.start(size, gang.train, LONG, folder, said)
    deadline = time.monotonic() + gang.SECONDS
    while all(process.is_alive() for process in processes) and time.monotonic() < deadline:
        if metrics.exists() and len(metrics.read_bytes().splitlines()) > before:
            break
        time.sleep(0.001)
    time.sleep(wait)
    return processes


@pytest.mark.slow
def test_killing_one_of_two_processes_ten_times(uninterrupted: Path, tmp_path: Path) -> None:
    """The other one ends with one message, the folder continues to the same numbers, bit for bit."""
    folder, said = tmp_path / "run", tmp_path / "said.txt"
    moments = random.Random(0)
    for kill in range(10):
        processes = begin(folder, said, moments.uniform(0, 0.05))
        victim = moments.choice((0, 1))
        assert processes[victim].is_alive(), said.read_text()
        processes[victim].kill()
        statuses = gang.wait(processes)
        assert statuses[victim] == -signal.SIGKILL
        assert statuses[1 - victim] == 1
        assert said.read_text().count("Error: another process of this run has ended") == kill + 1
        assert "Traceback" not in said.read_text()
        assert not (folder / "done").exists()
    assert gang.wait(gang.start(2, gang.train, LONG, folder, said)) == [0, 0]
    assert_same_run(folder, uninterrupted)


@pytest.mark.slow
def test_stopped_by_a_signal_to_either(uninterrupted: Path, tmp_path: Path) -> None:
    """Both finish the same step, one line is printed, nothing is lost."""
    folder, said = tmp_path / "run", tmp_path / "said.txt"
    steps = [0]
    for stop, (rank, name) in enumerate(((0, "SIGTERM"), (1, "SIGUSR1"), (1, "SIGINT"))):
        processes = begin(folder, said, 0.01)
        assert processes[rank].pid is not None
        os.kill(processes[rank].pid, getattr(signal, name))
        assert gang.wait(processes) == [STOPPED, STOPPED], said.read_text()
        assert said.read_text().count("nothing is lost. Run the same command again to continue") == stop + 1
        steps.append(torch.load(folder / "checkpoint.pt", weights_only=True)["step"])
    assert steps == sorted(set(steps))
    assert steps[-1] < LAST_STEP
    assert gang.wait(gang.start(2, gang.train, LONG, folder, said)) == [0, 0]
    assert_same_run(folder, uninterrupted)


@pytest.fixture(scope="module")
def uninterrupted_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In one process."""
    folder = tmp_path_factory.mktemp("uninterrupted_alone") / "run"
    said = folder.with_name("said.txt")
    assert gang.wait(gang.start(1, gang.train, LONG, folder, said)) == [0], said.read_text()
    return folder


@pytest.mark.slow
def test_one_process_stopped_at_ten_random_moments(uninterrupted_alone: Path, tmp_path: Path) -> None:
    """Wherever the signal falls, in a step, an evaluation or a checkpoint; the numbers are the same bits."""
    folder, said = tmp_path / "run", tmp_path / "said.txt"
    moments = random.Random(1)
    steps = [0]
    for _ in range(10):
        processes = begin(folder, said, moments.uniform(0, 0.04), size=1)
        assert processes[0].pid is not None
        os.kill(processes[0].pid, moments.choice((signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)))
        assert gang.wait(processes) == [STOPPED], said.read_text()
        steps.append(torch.load(folder / "checkpoint.pt", weights_only=True)["step"])
    assert steps == sorted(steps)
    assert any(step % 4 for step in steps), "else every stop fell on an evaluation"
    assert gang.wait(gang.start(1, gang.train, LONG, folder, said)) == [0]
    assert_same_run(folder, uninterrupted_alone)


@pytest.mark.slow
def test_continued_by_another_number_of_processes(alone: Path, tmp_path: Path) -> None:
    """Begun by two, continued by three and ended by one: the numbers of one, up to rounding."""
    content = compose_experiment(METHODS["and_mask"])
    folder, said = tmp_path / "run", tmp_path / "said.txt"
    for size, step in ((2, 5), (3, 11)):
        assert gang.wait(gang.start(size, gang.train_until, step, content, folder, said)) == [STOPPED] * size
        assert torch.load(folder / "checkpoint.pt", weights_only=True)["step"] == step
    assert gang.wait(gang.start(1, gang.train, content, folder, said)) == [0], said.read_text()
    assert_same_run(folder, alone / "and_mask", abs=1e-5)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (IMAGES, "use a model with GroupNorm"),
        ((*METHODS["mean"], "gradients=pooled", "model.batch_norm=true"), "use a model with GroupNorm"),
        ((*TINY, "aggregator=and_mask", "optimizer.lr=1e9", "optimizer=sgd"), "training diverged"),
    ],
)
def test_a_mistake_is_one_message(overrides: tuple[str, ...], message: str, tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    content = compose_experiment(overrides)
    assert gang.wait(gang.start(2, gang.train, content, tmp_path / "run", said)) == [1, 1]
    assert said.read_text().count("Error: ") == 1
    assert message in said.read_text()
    assert "Traceback" not in said.read_text()


def test_a_folder_in_use_is_one_message(tmp_path: Path) -> None:
    """Only the process that writes can tell; the other one must not wait for it for ever."""
    from lab.files.locked import locked

    said = tmp_path / "said.txt"
    with locked(tmp_path / "run"):
        assert gang.wait(gang.start(2, gang.train, LONG, tmp_path / "run", said)) == [1, 1]
    assert "another process is training" in said.read_text()
    assert said.read_text().count("Error: ") == 1
