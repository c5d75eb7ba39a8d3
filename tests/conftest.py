from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Tests run side by side: one thread each is fastest, and repeatable.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# A first call may load much; how long it takes says nothing about the code.
settings.register_profile("ilc", deadline=None)
settings.load_profile("ilc")

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]

# Spirals small enough for a test: two seconds, most of them for importing torch.
TINY = (
    "dataset.n_environments=4",
    "dataset.examples_per_environment=32",
    "dataset.batch_size=16",
    "dataset.n_test=50",
    "model.hidden_units=16",
    "trainer.max_epochs=3",
    "logger=none",
    "device=cpu",
)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def tiny() -> tuple[str, ...]:
    return TINY


@pytest.fixture
def train(tmp_path: Path) -> TrainCommand:
    """Runs ``python src/train.py`` with the given arguments, in an empty folder."""

    def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "src" / "train.py"), *arguments],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            **options,  # type: ignore[call-overload]
        )

    return command
