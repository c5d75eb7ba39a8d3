"""The command itself: ``torchrun --nproc_per_node=2 src/train.py ...``."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import gang
import pytest
import torch

from lab.configuration.compose import compose_experiment

OPTIONS = (
    "dataset.n_environments=7",
    "dataset.examples_per_environment=32",
    "dataset.batch_size=8",
    "dataset.n_test=50",
    "model.hidden_units=16",
    "trainer.max_epochs=100000",
    "trainer.evaluate_every=10",
    "trainer.stop_when_memorised=false",
    "logger=none",
    "device=cpu",
)


@pytest.mark.slow
def test_sigterm_reaches_every_process_and_the_folder_continues(root: Path, tmp_path: Path) -> None:
    """torchrun itself then ends with status 1, and says that its processes ended with 75."""
    folder = tmp_path / "run"
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    options = (*OPTIONS, f"hydra.run.dir={folder}")
    process = subprocess.Popen(
        [sys.executable, *torchrun, str(root / "src" / "train.py"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + gang.SECONDS
    while not (folder / "checkpoint.pt").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=gang.SECONDS)
    assert process.returncode != 0
    assert errors.count("nothing is lost. Run the same command again to continue") == 1, errors
    assert output.count("data: synthetic spirals") == 1
    step = torch.load(folder / "checkpoint.pt", weights_only=True)["step"]
    assert step >= 40
    content = compose_experiment(OPTIONS)
    (stopped,) = gang.wait(gang.start(1, gang.train_until, step + 1, content, folder, tmp_path / "said.txt"))
    assert stopped == 75, (tmp_path / "said.txt").read_text()
    assert torch.load(folder / "checkpoint.pt", weights_only=True)["step"] == step + 1
