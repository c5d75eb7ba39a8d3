"""How environment gradients are obtained: one way per file, all ending in the same statistics.

``vectorized`` and ``sequential`` give every environment a gradient of its own, the first by layers where
that is the same and cheaper; ``total`` is what
``vectorized`` does for an aggregator that needs only their sum. ``pooled`` is plain training,
in which nobody knows of environments. ``example_local``, ``example_share`` and ``example_loss`` make
every example an environment, all in one forward pass.

BatchNorm in training mode means the same in ``vectorized`` and ``sequential``: an environment's batch
is normalised by its own statistics, every environment starts from the same running statistics, and
afterwards the running statistics are the mean over environments. So neither the order nor the number of
environments changes how fast they move.
"""

from ilc.gradients._backward import (
    PER_EXAMPLE,
    WAYS,
    BackwardResult,
    backward,
    combined,
    environment_gradients,
)
from ilc.gradients._environment import EnvironmentGradients, RiskFunction
from ilc.gradients._ways.example_local import example_local
from ilc.gradients._ways.example_loss import example_loss
from ilc.gradients._ways.example_share import example_share
from ilc.gradients._ways.pooled import pooled
from ilc.gradients._ways.sequential import sequential
from ilc.gradients._ways.vectorized import vectorized

__all__ = [
    "PER_EXAMPLE",
    "WAYS",
    "BackwardResult",
    "EnvironmentGradients",
    "RiskFunction",
    "backward",
    "combined",
    "environment_gradients",
    "example_local",
    "example_loss",
    "example_share",
    "pooled",
    "sequential",
    "vectorized",
]
