"""A search killed and stopped ends with the trials that it would have had, none lost, none counted twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from lab.machine.stop_signals import STOPPED

EPOCHS = 30
TRIALS = 4
SEARCH = f"""
fixed: ["~tuned", experiment=spirals, aggregator=and_mask, seed=3, device=cpu, dataset.n_environments=4,
  dataset.examples_per_environment=64, dataset.batch_size=16, dataset.n_test=50, model.hidden_units=16,
  trainer.max_epochs={EPOCHS}, trainer.stop_when_memorised=false]
space:
  optimizer.lr: {{log_uniform: [1e-3, 1e-1]}}
  model.dropout: {{uniform: [0, 0.5]}}
objective: {{test/accuracy: maximize}}
selection: last
trials: {TRIALS}
"""


def evaluations(folder: Path) -> list[int]:
    return [len(path.read_bytes().splitlines()) for path in sorted(folder.glob("trials/*/metrics.jsonl"))]


@pytest.mark.slow
def test_killed_and_stopped(root: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(SEARCH)
    script = [sys.executable, str(root / "scripts" / "search.py"), str(tmp_path / "tiny.yaml")]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [*script, "--workers", "2", "--output", str(killed)]
    # At moments that nobody chose: with trials begun, done and not yet begun, or at the very start.
    goals = sorted(random.sample(range((TRIALS - 1) * EPOCHS), 2))
    for goal, how in zip(goals, random.sample((signal.SIGKILL, signal.SIGTERM), 2), strict=True):
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while sum(evaluations(killed)) < goal and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None, goals
        # Alone: its workers must go by themselves, and the next command finds them still going.
        process.send_signal(how)
        # A signal before it listens ends it, too.
        assert process.wait() in ((-how,) if how == signal.SIGKILL else (STOPPED, -how))
    for arguments in (command, command, [*script, "--output", str(whole)]):
        done = subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=120)
        assert f"tiny: {TRIALS} complete; best: trial" in done.stdout, goals
    assert evaluations(killed) == evaluations(whole) == [EPOCHS] * TRIALS, goals
    one, two = (pd.read_csv(folder / "trials.csv") for folder in (killed, whole))
    columns = ["number", "state", "value", "optimizer.lr", "model.dropout", "train/loss", "test/loss", "step"]
    # Two workers, two kills and a repetition change nothing, to the last bit.
    pd.testing.assert_frame_equal(one[columns], two[columns], check_exact=True)
    assert list(one.number) == list(range(TRIALS))
    assert one.chosen.tolist() == two.chosen.tolist()
