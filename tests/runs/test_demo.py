"""The demo: stopped or killed it leaves nothing behind, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ilc.locked import lock
from ilc.stop_signals import STOPPED

# In a folder of its own.
DEMO = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import demo
demo.OUTPUT = Path(sys.argv[1])
if __name__ == "__main__":
    demo.run_command(demo.main)
"""


def evaluations(output: Path) -> list[int]:
    paths = [output / name / "metrics.jsonl" for name in ("mean", "and_mask")]
    return [len(path.read_bytes().splitlines()) if path.exists() else 0 for path in paths]


@pytest.mark.slow
def test_the_next_demo_goes_on(root: Path, wait_for: Any, tmp_path: Path) -> None:
    output = tmp_path / "demo"
    (tmp_path / "own_demo.py").write_text(DEMO)
    command = [sys.executable, str(tmp_path / "own_demo.py"), str(output), str(root / "scripts")]
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        least = 1 + max(evaluations(output))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
            wait_for(partial(has_come_to, least, output))
            demo.send_signal(how)
            errors = demo.communicate()[1]
        if how == signal.SIGTERM:
            assert (demo.returncode, errors) == (STOPPED, "Stopped by SIGTERM: the same command continues\n")
            for name in ("mean", "and_mask"):
                assert (output / name / "checkpoint.pt").exists()
                descriptor = lock(output / name)
                assert descriptor is not None, "a training goes on"
                os.close(descriptor)


def has_come_to(least: int, output: Path) -> bool | None:
    return min(evaluations(output)) >= least or None
