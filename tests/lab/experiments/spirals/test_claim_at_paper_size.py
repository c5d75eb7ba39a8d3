"""The claim of section 3.1 at the paper's size, as bands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]
OPTIONS = ("experiment=spirals", "threads=1", "logger=none", "trainer.milestones=[]", "device=cpu")


def summary(train: TrainCommand, folder: Path, *arguments: str) -> dict[str, float]:
    done = train(*OPTIONS, *arguments, f"hydra.run.dir={folder}")
    assert done.returncode == 0, done.stderr
    values: dict[str, float] = json.loads((folder / "summary.json").read_text())
    return values


@pytest.mark.slow
def test_the_mean_learns_the_shortcuts(train: TrainCommand, tmp_path: Path) -> None:
    result = summary(train, tmp_path / "mean", "aggregator=mean")
    assert result["train/accuracy"] > 0.97
    assert 0.45 < result["test/accuracy"] < 0.55
    assert result["epoch"] <= 5


@pytest.mark.slow
def test_the_and_mask_learns_the_mechanism(train: TrainCommand, tmp_path: Path) -> None:
    """After half of the paper's epochs it is there already."""
    result = summary(train, tmp_path / "and", "aggregator=and_mask", "trainer.max_epochs=46")
    assert result["train/accuracy"] > 0.97
    assert result["test/accuracy"] > 0.97
