"""AND-masks inside training loops that other packages run.

``EnvironmentTrainer`` is a ``Trainer`` of Hugging Face. ``EnvironmentVotes`` takes the place of
``accelerator.backward``. ``EnvironmentModule`` stands beside a ``LightningModule``. ``EnvironmentSampler``
puts all environments into every batch.

The names are loaded on first use, so that none of the packages is needed for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ilc.integrations._accelerate import EnvironmentVotes
    from ilc.integrations._lightning import EnvironmentModule
    from ilc.integrations._sampler import EnvironmentSampler
    from ilc.integrations._transformers import EnvironmentTrainer

__all__ = ["EnvironmentModule", "EnvironmentSampler", "EnvironmentTrainer", "EnvironmentVotes"]

_HOME = {
    "EnvironmentModule": "ilc.integrations._lightning",
    "EnvironmentSampler": "ilc.integrations._sampler",
    "EnvironmentTrainer": "ilc.integrations._transformers",
    "EnvironmentVotes": "ilc.integrations._accelerate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ilc.integrations' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in ("accelerate", "transformers"):
            raise
        raise ModuleNotFoundError(
            f"{name} needs {error.name}, which is not installed: install ilc with the extra {error.name!r}",
            name=error.name,
        ) from error
