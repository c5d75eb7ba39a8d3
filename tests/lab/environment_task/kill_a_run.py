"""Kills a run ten times at random moments, ends it, and compares it with one that nobody disturbed.

    python kill_a_run.py FOLDER OVERRIDE...

One interpreter that has loaded everything forks a process for each attempt, which starts in milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch

from lab.configuration.compose import compose_experiment
from lab.runs.one_run.runner import run

KILLS = 10
NOT_NUMBERS = ("wall_seconds", "peak_memory_mb")


def main(folder: Path, overrides: list[str]) -> None:
    content = compose_experiment([*overrides, "logger=none", "device=cpu", "threads=1"])
    whole, broken = folder / "whole", folder / "broken"
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(start(content, whole), 0)[1]) == 0
    seconds = time.monotonic() - began
    moments = random.Random(content["name"])
    kills = attempts = 0
    while kills < KILLS:
        attempts += 1
        assert attempts < 10 * KILLS, f"{kills} kills in {attempts} attempts of {seconds:.2f} s"
        child = start(content, broken)
        time.sleep(moments.uniform(0, 0.9 * seconds))
        os.kill(child, signal.SIGKILL)
        kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if (broken / "done").exists():
            compare(broken, whole)
            shutil.rmtree(broken)
    assert os.waitstatus_to_exitcode(os.waitpid(start(content, broken), 0)[1]) == 0
    compare(broken, whole)
    print(f"{content['name']}: {kills} kills in {attempts} attempts, a whole run takes {seconds:.2f} s")


def start(content: dict[str, Any], folder: Path) -> int:
    """A process that makes the run, or continues it."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        log = os.open(folder.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        run(content, folder, "command")
        status = 0
    finally:
        os._exit(status)


def compare(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    one, two = (json.loads((path / "summary.json").read_text()) for path in (folder, other))
    for name in NOT_NUMBERS:
        del one[name], two[name]
    assert one == two
    assert {path.name for path in folder.iterdir()} == {path.name for path in other.iterdir()}
    states = [torch.load(path / "checkpoint.pt", weights_only=True)["model"] for path in (folder, other)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
