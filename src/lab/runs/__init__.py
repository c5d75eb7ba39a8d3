"""Runs: what every run needs, whatever it trains.

``one_run`` makes one run. ``pool`` does many jobs at a time, ``sweep`` makes the runs of one command,
``tables`` collects runs in CSV files, ``search`` looks for good settings, and ``study`` makes the files
behind a figure.

A run knows of what it trains only what ``lab.runs.one_run.task.Task`` says. The names below are loaded on
first use, so that a process that only starts others does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.runs.one_run.loaded_run import LoadedRun, load_run
    from lab.runs.one_run.runner import run

__all__ = ["LoadedRun", "load_run", "run"]

_HOME = {
    "LoadedRun": "lab.runs.one_run.loaded_run",
    "load_run": "lab.runs.one_run.loaded_run",
    "run": "lab.runs.one_run.runner",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lab.runs' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
