"""Which sampler a run draws with: batches of any environment are plain training's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


def test_of_all_examples_at_once_they_are_batches_of_every_environment(
    train: TrainCommand, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    """4 environments of 32 examples: where a step sees all of them, how they were drawn changes nothing."""
    risks = []
    for kind, size in (("every_environment", 32), ("any_environment", 128)):
        folder = tmp_path / kind
        options = ("aggregator=mean", f"+dataset.batches={kind}", f"dataset.batch_size={size}")
        done = train(*tiny, *options, "trainer.max_epochs=2", f"hydra.run.dir={folder}")
        assert done.returncode == 0, done.stderr
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["step"] == 2
        risks.append(summary["train/loss"])
    assert risks[0] == pytest.approx(risks[1], rel=1e-4)
