"""Learning explanations that are hard to vary: AND-mask and Invariant Learning Consistency.

The names below are loaded on first use, so that ``import ilc`` and the command line's help cost no
import of torch. All but ``load_run`` need torch alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilc.aggregators import AndMask, GeometricMean, Mean, XorMask
    from ilc.gradients import backward
    from ilc.objectives import irm_penalty
    from ilc.optim import TemporalMaskAdam
    from ilc.runs import load_run
    from ilc.verification import verify

__version__ = "0.1.0"

__all__ = [
    "AndMask",
    "GeometricMean",
    "Mean",
    "TemporalMaskAdam",
    "XorMask",
    "backward",
    "irm_penalty",
    "load_run",
    "verify",
]

_HOME = {
    "AndMask": "ilc.aggregators",
    "GeometricMean": "ilc.aggregators",
    "Mean": "ilc.aggregators",
    "TemporalMaskAdam": "ilc.optim",
    "XorMask": "ilc.aggregators",
    "backward": "ilc.gradients",
    "irm_penalty": "ilc.objectives",
    "load_run": "ilc.runs",
    "verify": "ilc.verification",
}
_EXTRA = {"load_run": "experiments"}
"""What a name needs beyond torch."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ilc' has no attribute {name!r}")
    try:
        home = import_module(_HOME[name])
    except ModuleNotFoundError as error:
        if name not in _EXTRA:
            raise
        raise ImportError(
            f"ilc.{name} needs the package {error.name}, which is not installed. "
            f"Install what it needs with: pip install 'ilc[{_EXTRA[name]}]'"
        ) from error
    return getattr(home, name)
