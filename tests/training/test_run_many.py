"""Runs side by side are the runs that a sweep makes one after another."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from ilc.configuration.compose import combinations
from ilc.locked import lock

T = TypeVar("T")
TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


def run_many(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A run in this process sets it, and its children would show tracebacks.
    environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
    command = [sys.executable, str(root / "scripts" / "run_many.py"), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)


def test_combinations() -> None:
    made = combinations(["a=1,2", "b.c=x", "seed=range(0,2)"])
    assert made == [[a, "b.c=x", seed] for a in ("a=1", "a=2") for seed in ("seed=0", "seed=1")]


def test_the_same_runs_as_a_sweep(
    train: TrainCommand, tiny: tuple[str, ...], root: Path, tmp_path: Path
) -> None:
    options = [option for option in tiny if option != "logger=none"]
    sweep = ["aggregator=mean,and_mask", "optimizer.lr=1e-3,1e30", "seed=1"]
    assert train("-m", *options, "logger=none", *sweep, "hydra.sweep.dir=sweep").returncode == 1
    done = run_many(root, *options, *sweep, "--output", str(tmp_path / "many"))
    assert done.returncode == 1
    assert "2 of 4 runs are done" in done.stdout
    assert "2 runs failed" in done.stderr
    assert "training diverged" in done.stderr
    assert "Traceback" not in done.stderr
    losses = []
    for folder in ("sweep", "many"):
        runs = sorted((tmp_path / folder).glob("spirals/*/summary.json"))
        losses.append({path.parent.name: json.loads(path.read_text())["train/loss"] for path in runs})
    assert losses[0] == losses[1]
    assert len(losses[0]) == 2


def test_the_recorded_command_repeats_the_run(
    train: TrainCommand, tiny: tuple[str, ...], root: Path, tmp_path: Path
) -> None:
    options = [option for option in tiny if option != "logger=none"]
    # An option that the mean lacks: refused in a single run.
    sweep = ["aggregator=mean", "aggregator.agreement_threshold=0.5"]
    assert run_many(root, *options, *sweep, "--output", str(tmp_path / "many")).returncode == 0
    (path,) = (tmp_path / "many").glob("spirals/*/provenance.json")
    command = json.loads(path.read_text())["command"]
    again = train(*shlex.split(command)[2:], "hydra.sweep.dir=again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "spirals" / path.parent.name / "done").exists()


def test_workers_die_with_a_killed_command(tiny: tuple[str, ...], root: Path, tmp_path: Path) -> None:
    options = [option for option in tiny if option != "logger=none"]
    endless = ["trainer.max_epochs=1000000", "trainer.stop_when_memorised=false"]
    long = [*options, "aggregator=mean", *endless, "--output", str(tmp_path)]
    command = [sys.executable, str(root / "scripts" / "run_many.py"), *long]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        folder = wait_for(
            lambda: next((path.parent for path in tmp_path.glob("spirals/*/metrics.jsonl")), None)
        )
        assert lock(folder) is None
        process.kill()
    os.close(wait_for(lambda: lock(folder)))


def wait_for(look: Callable[[], T | None]) -> T:
    """What ``look`` finds, looking again until it does."""
    for _ in range(600):
        found = look()
        if found is not None:
            return found
        time.sleep(0.1)
    raise AssertionError("waited a minute for nothing")


@pytest.mark.parametrize("arguments", [["seed=0", "--workers", "0"], ["sead=0"]])
def test_mistakes_are_readable(arguments: list[str], root: Path, tmp_path: Path) -> None:
    done = run_many(root, *arguments, "--output", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
