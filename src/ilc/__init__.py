"""Learning explanations that are hard to vary: AND-mask and Invariant Learning Consistency.

The names below are loaded on first use, so that ``import ilc`` and the command line's help do not import
torch. They need only torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilc.aggregators import AndMask, GeometricMean, Mean, XorMask
    from ilc.diagnosis import diagnose
    from ilc.gradients import accumulate, backward
    from ilc.objectives import irm_penalty
    from ilc.optim import TemporalMaskAdam
    from ilc.verification import verify

__version__ = "0.2.0"

__all__ = [
    "AndMask",
    "GeometricMean",
    "Mean",
    "TemporalMaskAdam",
    "XorMask",
    "accumulate",
    "backward",
    "diagnose",
    "irm_penalty",
    "verify",
]

_HOME = {
    "AndMask": "ilc.aggregators",
    "GeometricMean": "ilc.aggregators",
    "Mean": "ilc.aggregators",
    "TemporalMaskAdam": "ilc.optim",
    "XorMask": "ilc.aggregators",
    "accumulate": "ilc.gradients",
    "backward": "ilc.gradients",
    "diagnose": "ilc.diagnosis",
    "irm_penalty": "ilc.objectives",
    "verify": "ilc.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ilc' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
