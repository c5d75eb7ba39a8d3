"""How environment gradients are combined: one method per file, statistics in, update out."""

from ilc.aggregators.and_mask import AndMask
from ilc.aggregators.base import Aggregator, Combined
from ilc.aggregators.domain_adversarial import DomainAdversarial
from ilc.aggregators.geometric_mean import GeometricMean
from ilc.aggregators.irm_penalty import IrmPenalty
from ilc.aggregators.mean import Mean
from ilc.aggregators.statistics import GradientStatistics
from ilc.aggregators.temporal_mask import TemporalMask
from ilc.aggregators.xor_mask import XorMask

__all__ = [
    "Aggregator",
    "AndMask",
    "Combined",
    "DomainAdversarial",
    "GeometricMean",
    "GradientStatistics",
    "IrmPenalty",
    "Mean",
    "TemporalMask",
    "XorMask",
]
