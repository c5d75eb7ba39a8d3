"""DANN as an experiment runs it: each way of obtaining gradients, a network of the wrong size."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_a_run_and_its_continuation(
    way: str, train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    command = [*tiny, "aggregator=dann", "model=dann", f"gradients={way}", "optimizer.lr=0.01"]
    assert train(*command, f"hydra.run.dir={tmp_path / 'run'}").returncode == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert 0 <= summary["test/accuracy"] <= 1
    done = train(*command, f"hydra.run.dir={tmp_path / 'run'}")
    assert "nothing to do" in done.stdout
    done = train(*command, "model.n_environments=3", "seed=1")
    assert done.returncode == 1
    assert "model.n_environments must be the dataset's 4" in done.stderr
