"""The IRM experiments as commands: bands, resume, warnings, divergence, selection."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import lab.runs
from ilc.errors import UserError
from lab.configuration.compose import compose_experiment

Run = Callable[..., Path]

LINEAR = ("experiment=linear_sem", "logger=none", "device=cpu", "threads=1")
DIGITS = (
    "experiment=colored_mnist",
    "dataset.source=digits",
    "dataset.examples_per_environment=200",
    "model.hidden_units=8",
    "trainer.evaluate_every=1",
    "logger=none",
    "device=cpu",
    "threads=1",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """As ``python src/train.py`` with the given arguments, without a process of its own."""
    before = torch.are_deterministic_algorithms_enabled()

    def command(*arguments: str) -> Path:
        folder = tmp_path_factory.mktemp("run")
        lab.runs.run(compose_experiment(arguments), folder, "test")
        return folder

    yield command
    torch.use_deterministic_algorithms(before)


def summary_of(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("aggregator", "weights"),
    [("irm_penalty", (1.0, 1.0, 0.0, 0.0)), ("mean", (0.649, 0.691, 0.335, 0.340))],
)
def test_learned_weights(aggregator: str, weights: tuple[float, ...], run: Run) -> None:
    """Within 0.05 of the causal weights, and of the explainer's for plain training."""
    summary = summary_of(run(*LINEAR, f"aggregator={aggregator}"))
    assert summary["weights"] == pytest.approx(weights, abs=0.05)
    assert summary["wall_seconds"] < 120
    assert summary["best/loss_s0.01"] == pytest.approx(2e-4)
    errors = [summary[f"test_s{scale}/loss"] for scale in ("0.01", "0.1", "1")]
    if aggregator == "irm_penalty":
        assert errors[0] < 2e-3
        assert errors[1:] == pytest.approx([0.02, 1.94], rel=0.1)
        assert "warning" not in summary
        assert summary["train/penalty"] < 1e-4
    else:
        assert errors == pytest.approx([0.230, 0.237, 1.10], rel=0.1)


@pytest.fixture(scope="module")
def uninterrupted(run: Run) -> Path:
    """Twelve steps whose weight jumps after six, with dropout, random halves and an optimizer reset."""
    return run(*DIGITS, *JUMP)


JUMP = (
    "trainer.max_epochs=12",
    "aggregator.schedule_steps=6",
    "aggregator.penalty_weight=50",
    "aggregator.estimator=two_halves",
    "aggregator.reset_optimizer=true",
    "model.dropout=0.2",
)


@pytest.mark.slow
def test_resume_keeps_the_schedule_bit_for_bit(uninterrupted: Path, root: Path, tmp_path: Path) -> None:
    """Killed around the jump, a run continues to the same numbers."""
    folder = tmp_path / "run"
    command = [sys.executable, str(root / "src" / "train.py"), *DIGITS, *JUMP, f"hydra.run.dir={folder}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    metrics = folder / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if metrics.exists() and len(metrics.read_bytes().splitlines()) >= 4:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.001)
    process.wait()
    assert not (folder / "done").exists(), "the run ended before it could be killed"
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert metrics.read_bytes() == (uninterrupted / "metrics.jsonl").read_bytes()
    states = [torch.load(path / "checkpoint.pt", weights_only=True) for path in (folder, uninterrupted)]
    assert all(torch.equal(states[0]["model"][name], states[1]["model"][name]) for name in states[0]["model"])


def test_penalty_and_risk_are_logged_apart(uninterrupted: Path) -> None:
    lines = [json.loads(line) for line in (uninterrupted / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    for line in lines:
        assert 0 <= line["train/penalty"] < 1
        assert 0 < line["train/loss"] < 2
    assert {"train_c0.2/accuracy", "train_c0.1/accuracy", "validation/accuracy"} <= lines[0].keys()


@pytest.mark.parametrize(
    ("rule", "key"),
    [("validation_environment", "validation/accuracy"), ("training_environments", "train/accuracy")],
)
def test_selection_reports_the_chosen_evaluation(rule: str, key: str, uninterrupted: Path, run: Run) -> None:
    folder = run(*DIGITS, *JUMP, f"trainer.selection={rule}")
    assert (folder / "metrics.jsonl").read_bytes() == (uninterrupted / "metrics.jsonl").read_bytes()
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    best = max(lines, key=lambda line: line[key])
    summary = summary_of(folder)
    assert summary["selection"] == rule
    assert {name: summary[name] for name in best} == best
    assert summary_of(uninterrupted)["selection"] == "last"


def test_a_penalty_that_is_not_finite_names_step_weight_and_remedy(run: Run) -> None:
    options = (
        "aggregator.schedule=constant",
        "aggregator.penalty_weight=123456",
        "aggregator.rescale_loss=false",
        "trainer.max_epochs=50",
        "dataset.examples_per_environment=100",
    )
    with pytest.raises(UserError) as error:
        run(*LINEAR, *options)
    message = str(error.value)
    assert re.search(r"the IRM penalty is not finite at step \d+, where its weight is 123456 ", message)
    assert "Take a smaller aggregator.penalty_weight or optimizer.lr" in message


def test_a_collapse_is_warned_of_in_print_and_in_the_summary(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("aggregator.schedule=constant", "trainer.max_epochs=40", "trainer.evaluate_every=40")
    folder = run(*DIGITS, *options)
    assert "Warning: the outputs have collapsed" in capsys.readouterr().out
    assert summary_of(folder)["warning"].startswith("the outputs have collapsed")


def test_a_penalty_too_weak_is_warned_of(run: Run) -> None:
    options = ("aggregator.penalty_weight=0", "trainer.max_epochs=60", "trainer.evaluate_every=60")
    folder = run(*DIGITS, "model.hidden_units=32", *options)
    assert "too weak" in summary_of(folder)["warning"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("trainer.selection=best", "trainer.selection must be one of last"),
        ("trainer.selection=validation_environment", "an evaluation split named 'validation'"),
        ("aggregator.schedule=jump", "aggregator.schedule) must be one of constant"),
    ],
)
def test_mistakes_end_in_one_message(option: str, message: str, run: Run) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        run(*LINEAR, option)
