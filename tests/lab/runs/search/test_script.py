"""``scripts/search.py``: mistakes end in one message, those that a worker finds too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SEARCH = """
fixed: [experiment=spirals, dataset.examples_per_environment=32, dataset.batch_size=16, trainer.max_epochs=1]
space: {optimizer.lr: {choice: [1e-3]}}
objective: {OBJECTIVE: maximize}
selection: last
trials: 1
"""


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (SEARCH, ["--workers", "0"], "--workers must be at least 1"),
        (SEARCH, ["--trials", "0"], "trials must be a whole number of at least 1"),
        (SEARCH.replace("optimizer.lr", "optimizer.rate"), [], "optimizer.rate"),
        (SEARCH.replace("OBJECTIVE", "test/kl"), [], "its runs do not have the metric test/kl"),
        (SEARCH, ["--export", "--output", "OUTPUT"], "no trial has completed yet"),
    ],
)
def test_mistakes_are_readable(
    content: str,
    arguments: list[str],
    message: str,
    script_here: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if not arguments:
        request.getfixturevalue("in_this_process")
    path = tmp_path / "own.yaml"
    path.write_text(content.replace("OBJECTIVE", "test/accuracy"))
    done = script_here("search", str(path), *arguments, "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
