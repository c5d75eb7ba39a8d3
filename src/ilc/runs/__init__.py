"""What every run needs and nothing of what it trains: folder, resume, metrics, selection, loggers, sweeps.

A run knows a ``Task`` and nothing else of what learns; see ``ilc.runs.task``.
"""

from ilc.runs.load_run import LoadedRun, load_run
from ilc.runs.runner import run

__all__ = ["LoadedRun", "load_run", "run"]
