"""The laboratory beside the library ``ilc``: configuration, runs, data, models, experiments, figures, report.

The repository installs it; it is not part of the package ``ilc``. ``load_run`` is loaded on first use, so
that the command line's help costs no import of torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.runs import load_run

__all__ = ["load_run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lab' has no attribute {name!r}")
    return getattr(import_module("lab.runs"), name)
