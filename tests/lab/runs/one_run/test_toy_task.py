"""A task with a loop of its own is killed, swept and searched like any other, unknown to src/."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

TOY = Path(__file__).parents[1] / "toy"
PLACE = f"hydra.searchpath=[file://{TOY / 'conf'}]"
SHARED = (PLACE, "experiment=toy", "device=cpu")
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"},
    "PYTHONPATH": str(TOY),
}

SEARCH = """\
fixed: [{place}, experiment=toy, trainer.max_epochs=3]
space:
  lr: {{log_uniform: [1.0e-3, 1.0e-1]}}
  inner_steps: {{choice: [1, 2]}}
objective: {{test/loss: minimize}}
selection: last
trials: 3
"""


def run(root: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / script), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=ENVIRONMENT)


def test_at_most_sixty_lines() -> None:
    assert len((TOY / "toy_task.py").read_text().splitlines()) <= 60


@pytest.mark.slow
def test_killed_it_continues_to_the_same_numbers(root: Path, tmp_path: Path) -> None:
    options = (*SHARED, "logger=none", "trainer.max_epochs=400")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run(root, "src/train.py", *options, f"hydra.run.dir={whole}").returncode == 0
    command = [sys.executable, str(root / "src" / "train.py"), *options, f"hydra.run.dir={broken}"]
    kills = 0
    for goal in (2, 30):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        metrics = broken / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if metrics.exists() and len(metrics.read_bytes().splitlines()) >= goal:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.001)
        process.wait()
    assert kills == 2
    assert run(root, "src/train.py", *options, f"hydra.run.dir={broken}").returncode == 0
    assert (broken / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    states = [torch.load(f / "checkpoint.pt", weights_only=True) for f in (whole, broken)]
    for name in ("model", "teacher"):
        assert all(torch.equal(states[0][name][key], states[1][name][key]) for key in states[0][name])


@pytest.mark.slow
def test_swept(root: Path, tmp_path: Path) -> None:
    sweep = (*SHARED, "method=taught,alone", "lr=0.1,0.2", "trainer.max_epochs=2")
    done = run(root, "scripts/run_many.py", *sweep, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    folders = sorted(path.parent.name.rsplit("-", 1)[0] for path in tmp_path.glob("toy/*/done"))
    assert folders == ["alone-seed0", "alone-seed0", "taught-seed0", "taught-seed0"]


@pytest.mark.slow
def test_searched(root: Path, tmp_path: Path) -> None:
    definition = tmp_path / "toy_search.yaml"
    definition.write_text(SEARCH.format(place=json.dumps(PLACE)))
    done = run(root, "scripts/search.py", str(definition), "--output", str(tmp_path / "search"))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("search/trials/*/done"))) == 3
    assert "lr:" in (tmp_path / "search" / "best.yaml").read_text()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("+aggregator=mean", "unknown key 'aggregator'"),
        ("+trainer.milestones=[0.5]", "unknown key 'trainer.milestones'"),
        ("inner_steps=many", "inner_steps must be a whole number, got 'many'"),
        ("~lr", "the config lacks 'lr', which ToyTask needs"),
    ],
)
def test_mistakes_are_readable(
    option: str, message: str, train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(TOY)
    done = train(*SHARED, "logger=none", option, f"hydra.run.dir={tmp_path}")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
