"""Numbers too small for the usual form are zero during a run, on each thread of PyTorch, and not after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lab.configuration.compose import compose_experiment
from lab.environment_task import EnvironmentTask
from lab.runs import run

PROGRAM = """
import torch
from lab.machine.subnormals import subnormals_are_zero

def smallest():
    return float((torch.full((1_000_000,), 2e-38) * 0.01).max())

torch.set_num_threads(2)
with subnormals_are_zero():
    assert smallest() == 0.0
    import numpy
    numpy.finfo(numpy.float32), numpy.finfo(numpy.float64)
torch.set_num_threads(1)
assert smallest() > 0.0
"""


def test_on_each_thread_and_without_a_word_of_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_trains_and_evaluates_so(
    tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def look() -> float:
        return float(torch.tensor(2e-38) * 0.01)

    for name in ("train_epoch", "evaluate"):
        method = getattr(EnvironmentTask, name)

        def looking(task: EnvironmentTask, method: object = method) -> object:
            seen.append(look())
            return method(task)  # type: ignore[operator]

        monkeypatch.setattr(EnvironmentTask, name, looking)
    before = look()
    run(compose_experiment([*tiny, "trainer.max_epochs=1"]), tmp_path / "run", "")
    torch.use_deterministic_algorithms(False)
    assert seen == [0.0, 0.0]
    assert look() == before > 0.0
