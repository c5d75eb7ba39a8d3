"""Jobs for workers to do: importable there, as functions of a test file are not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ilc.errors import UserError
from lab.files.atomic import write_text
from lab.files.locked import lock
from lab.machine.stop_signals import Stopped, finish_first, stop_requested


def describe_process(word: str) -> tuple[str, int]:
    print(f"said {word}")
    os.system(f"echo shouted {word}")  # Printed by another program into the same place.
    return word, os.getpid()


def refuse(word: str) -> None:
    raise UserError(f"no {word} today")


def fill_the_disk(path: Path) -> None:
    raise OSError(28, "No space left on device", str(path))


def break_down() -> None:
    raise ZeroDivisionError("a defect")


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def be_asked() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)


def hold(folder: Path) -> None:
    """Keep a folder locked for as long as this process lives."""
    assert lock(folder) is not None
    write_text(folder / "held", str(os.getpid()))
    time.sleep(600)


def end_when_asked(folder: Path) -> None:
    """Take steps of half a second; asked to stop, finish one, note it and, as it was the last, end."""
    folder.mkdir(exist_ok=True)
    with finish_first():
        write_text(folder / "held", str(os.getpid()))
        while stop_requested() is None:
            time.sleep(0.5)
        (folder / "checkpoint").touch()


def step_until_asked(folder: Path) -> None:
    """The same, but with more steps to come."""
    end_when_asked(folder)
    raise Stopped


def step_unless_begun(folder: Path) -> str:
    """The same the first time, but not the second."""
    if not (folder / "checkpoint").exists():
        step_until_asked(folder)
    return "done the second time"


def be_deaf(folder: Path) -> None:
    """Hold a folder and never finish."""
    with finish_first():
        hold(folder)


def break_down_after(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)
    break_down()
