"""Networks of the experiments, importable on their own."""

from ilc.models.linear import Linear
from ilc.models.mlp import MLP

__all__ = ["MLP", "Linear"]
