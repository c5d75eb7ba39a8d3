"""``scripts/search.py``: mistakes end in one message, a worker's too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = """
fixed: [experiment=spirals, dataset.examples_per_environment=32, dataset.batch_size=16, trainer.max_epochs=1]
space: {optimizer.lr: {choice: [1e-3]}}
objective: {OBJECTIVE: maximize}
selection: last
trials: 1
"""


def search(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A run in this process sets it, and its children would show tracebacks.
    environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
    command = [sys.executable, str(root / "scripts" / "search.py"), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (SEARCH, ["--workers", "0"], "--workers must be at least 1"),
        (SEARCH, ["--trials", "0"], "trials must be a whole number of at least 1"),
        (SEARCH.replace("optimizer.lr", "optimizer.rate"), [], "optimizer.rate"),
        (SEARCH.replace("OBJECTIVE", "test/kl"), [], "no run has the metric test/kl"),
        (SEARCH, ["--export", "--output", "OUTPUT"], "no trial has completed yet"),
    ],
)
def test_mistakes_are_readable(
    content: str, arguments: list[str], message: str, root: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content.replace("OBJECTIVE", "test/accuracy"))
    done = search(root, str(path), *arguments, "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
