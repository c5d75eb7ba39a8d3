"""How environment gradients are combined: one method per file, statistics in, update out."""

from ilc.aggregators.and_mask import AndMask
from ilc.aggregators.base import Aggregator, Combined
from ilc.aggregators.geometric_mean import GeometricMean
from ilc.aggregators.mean import Mean, MeanOfEnvironments
from ilc.aggregators.statistics import ON_REQUEST, GradientStatistics
from ilc.aggregators.xor_mask import XorMask

__all__ = [
    "ON_REQUEST",
    "Aggregator",
    "AndMask",
    "Combined",
    "GeometricMean",
    "GradientStatistics",
    "Mean",
    "MeanOfEnvironments",
    "XorMask",
]
