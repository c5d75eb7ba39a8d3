"""How environment gradients are obtained: one way per file, all ending in the same statistics.

BatchNorm in training mode means the same in each: an environment's batch is normalised by its own
statistics, every environment starts from the same running statistics, and afterwards the running
statistics are the mean over environments. So neither the order nor the number of environments
changes how fast they move.
"""

from ilc.gradients.backward import WAYS, BackwardResult, backward
from ilc.gradients.environment import EnvironmentGradients, RiskFunction
from ilc.gradients.sequential import sequential
from ilc.gradients.vectorized import vectorized

__all__ = [
    "WAYS",
    "BackwardResult",
    "EnvironmentGradients",
    "RiskFunction",
    "backward",
    "sequential",
    "vectorized",
]
