"""The expert, killed in the middle of training, loses one update at most; the same command continues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

UPDATE = 8 * 16
FRAMES = 40 * UPDATE


def frames_of(folder: Path) -> int:
    path = folder / "checkpoint.pt"
    return int(torch.load(path, weights_only=True)["frames"]) if path.exists() else 0


@pytest.mark.slow
def test_a_kill_loses_one_update_at_most(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "train_expert.py"), "--config-name", "hard"]
    command += ["n_games=8", "n_steps=16", "minibatches=2", "width=2", "features=8", "device=cpu"]
    command += [f"frames={FRAMES}", f"checkpoint_every={UPDATE}", "evaluate_levels=2", "evaluate_every=0"]
    command += ["snapshot=null", f"hydra.run.dir={tmp_path}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while frames_of(tmp_path) < 3 * UPDATE and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept, played = frames_of(tmp_path), pd.read_csv(tmp_path / "curve.csv")["frames"].iloc[-1]
    assert 3 * UPDATE <= kept < FRAMES
    assert played - kept <= UPDATE
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=240)
    assert f"continuing after {kept:,} frames" in done.stdout
    assert frames_of(tmp_path) == FRAMES
    frames = pd.read_csv(tmp_path / "curve.csv")["frames"]
    assert list(frames) == list(range(UPDATE, FRAMES + 1, UPDATE))
