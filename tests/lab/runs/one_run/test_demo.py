"""The demo leaves nothing behind when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.files.locked import lock
from lab.machine.stop_signals import STOPPED

# In a folder of its own.
DEMO = """
import sys
from pathlib import Path
sys.path.insert(0, {scripts!r})
import demo
demo.OUTPUT = Path({output!r})
if __name__ == "__main__":
    demo.run_command(demo.main)
"""


def evaluations(output: Path) -> list[int]:
    paths = [output / name / "metrics.jsonl" for name in ("mean", "and_mask")]
    return [len(path.read_bytes().splitlines()) if path.exists() else 0 for path in paths]


@pytest.mark.slow
def test_stopped_both_trainings_stop_between_two_steps(root: Path, wait_for: Any, tmp_path: Path) -> None:
    output = tmp_path / "demo"
    (tmp_path / "own_demo.py").write_text(DEMO.format(scripts=str(root / "scripts"), output=str(output)))
    command = [sys.executable, str(tmp_path / "own_demo.py")]
    folders = [output / "mean", output / "and_mask"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        wait_for(lambda: all((folder / "metrics.jsonl").exists() for folder in folders) or None)
        demo.terminate()
        errors = demo.communicate()[1]
    assert (demo.returncode, errors) == (
        STOPPED,
        "Stopped by SIGTERM: run the same command again to continue\n",
    )
    for folder in folders:
        assert (folder / "checkpoint.pt").exists()
        assert "Stopped by SIGTERM after epoch" in folder.with_suffix(".log").read_text()
        descriptor = lock(folder)
        assert descriptor is not None, "a training goes on, in whose folder the next demo would fail"
        os.close(descriptor)
