"""What every run needs and nothing of what it trains: folder, resume, metrics, selection, loggers, sweeps.

A run knows a ``Task`` and nothing else of what learns; see ``lab.runs.task``. The names below are loaded on
first use, so that a process that only looks after others needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.runs.loaded_run import LoadedRun, load_run
    from lab.runs.runner import run

__all__ = ["LoadedRun", "load_run", "run"]

_HOME = {"LoadedRun": "lab.runs.loaded_run", "load_run": "lab.runs.loaded_run", "run": "lab.runs.runner"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lab.runs' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
