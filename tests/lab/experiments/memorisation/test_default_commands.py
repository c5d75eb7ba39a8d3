"""The commands of docs/memorisation.md, whole, offline and on the images that come with the project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RANDOM, NOISE = "experiment=cifar_random_labels", "experiment=cifar_label_noise"
EIGHT_MINUTES, PLAIN_STEP = 480, 0.045
"""Seconds of the command on two idle cores, and of a plain step there on one thread.

Measured there: 5:12. A slower machine has as many plain steps as that one.
"""
BESIDE_OTHER_TESTS = 1.5
"""Here a run has one thread, and the other core does other tests."""


def last(root: Path, folder: Path, *overrides: str) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(root / "src" / "train.py"), *overrides]
    # No data lies in the empty folder, and nothing is to be asked for over a network.
    own = ["dataset.source=embedded", f"data_dir={folder}", "threads=1", "logger=none"]
    own += [f"hydra.run.dir={folder / 'run'}"]
    subprocess.run([*command, *own], check=True, capture_output=True, cwd=folder, timeout=4 * EIGHT_MINUTES)
    assert (folder / "run" / "curves.png").is_file()
    found: dict[str, Any] = json.loads((folder / "run" / "summary.json").read_text())
    assert "CIFAR" not in found["data_source"]
    return found


def seconds_of_a_plain_step(root: Path, folder: Path) -> float:
    """On this machine as it is now. Five and eight epochs have the same two evaluations, which drop out."""
    plain = (RANDOM, "aggregator.agreement_threshold=0")
    short, long = (last(root, folder / str(n), *plain, f"trainer.max_epochs={n}") for n in (5, 8))
    return (long["wall_seconds"] - short["wall_seconds"]) / (long["step"] - short["step"])


@pytest.mark.slow
def test_the_mask_holds_random_labels(root: Path, tmp_path: Path) -> None:
    before = seconds_of_a_plain_step(root, tmp_path / "before")
    found = last(root, tmp_path, RANDOM)
    assert 0.15 <= found["train/accuracy"] <= 0.45
    # The other core may have become free in between.
    slower = max(before, seconds_of_a_plain_step(root, tmp_path / "after"), PLAIN_STEP) / PLAIN_STEP
    assert found["wall_seconds"] < BESIDE_OTHER_TESTS * EIGHT_MINUTES * slower


@pytest.mark.slow
def test_plain_training_memorises_random_labels(root: Path, tmp_path: Path) -> None:
    assert last(root, tmp_path, RANDOM, "aggregator.agreement_threshold=0")["train/accuracy"] >= 0.99


@pytest.mark.slow
def test_the_mask_learns_true_labels(root: Path, tmp_path: Path) -> None:
    found = last(root, tmp_path, RANDOM, "dataset.label_noise=0")
    assert found["test/accuracy"] >= 0.85
    assert found["train/accuracy"] < 0.95


@pytest.mark.slow
def test_the_mask_does_not_fit_wrong_labels(root: Path, tmp_path: Path) -> None:
    found = last(root, tmp_path, NOISE)
    assert found["train/accuracy_mislabeled"] <= 0.05
    assert found["train/accuracy_labeled"] >= 0.8


@pytest.mark.slow
def test_plain_training_fits_wrong_labels(root: Path, tmp_path: Path) -> None:
    assert last(root, tmp_path, NOISE, "aggregator=mean")["train/accuracy_mislabeled"] >= 0.95
