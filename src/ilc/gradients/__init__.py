"""How environment gradients are obtained. Every way ends in the same statistics.

``vectorized`` and ``sequential`` give every environment a gradient of its own. ``vectorized`` goes layer by
layer if that is exact and cheaper. For an aggregator that needs only the sum of the gradients, it computes
only the sum. ``pooled`` is plain training, which does not know environments. ``example_local``,
``example_share`` and ``example_loss`` make every example an environment and need one forward pass for all.

BatchNorm in training mode means the same in ``vectorized`` and ``sequential``. An environment's batch is
normalised by its own statistics. Every environment starts from the same running statistics, and afterwards
the running statistics are the mean over environments. So neither the order nor the number of environments
changes how fast they move.
"""

from ilc.gradients._accumulate import Accumulation, accumulate
from ilc.gradients._backward import BackwardResult, backward, combined
from ilc.gradients._environment import EnvironmentGradients, RiskFunction
from ilc.gradients._environment_gradients import PER_EXAMPLE, WAYS, environment_gradients
from ilc.gradients._ways.example_local import example_local
from ilc.gradients._ways.example_loss import example_loss
from ilc.gradients._ways.example_share import example_share
from ilc.gradients._ways.pooled import pooled
from ilc.gradients._ways.sequential import sequential
from ilc.gradients._ways.vectorized import vectorized

__all__ = [
    "PER_EXAMPLE",
    "WAYS",
    "Accumulation",
    "BackwardResult",
    "EnvironmentGradients",
    "RiskFunction",
    "accumulate",
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
