"""Learning explanations that are hard to vary: AND-mask and Invariant Learning Consistency.

The names below are loaded on first use, so that the command line's help needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilc.aggregators import AndMask, GeometricMean, Mean, XorMask
    from ilc.gradients import backward
    from ilc.objectives import irm_penalty
    from ilc.runs import load_run

__all__ = ["AndMask", "GeometricMean", "Mean", "XorMask", "backward", "irm_penalty", "load_run"]

_HOME = {
    "AndMask": "ilc.aggregators",
    "GeometricMean": "ilc.aggregators",
    "Mean": "ilc.aggregators",
    "XorMask": "ilc.aggregators",
    "backward": "ilc.gradients",
    "irm_penalty": "ilc.objectives",
    "load_run": "ilc.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ilc' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
