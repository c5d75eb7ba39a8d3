"""How environment gradients are combined: one method per file, statistics in, update out."""

from ilc.aggregators.agreement_random import AgreementRandom
from ilc.aggregators.agreement_sum import AgreementSum
from ilc.aggregators.and_mask import AndMask
from ilc.aggregators.base import Aggregator, Combined
from ilc.aggregators.eqrm import Eqrm
from ilc.aggregators.geometric_mean import GeometricMean
from ilc.aggregators.grad_drop import GradDrop
from ilc.aggregators.gram_agreement import GramAgreement
from ilc.aggregators.gram_weights import GramWeights
from ilc.aggregators.group_dro import GroupDro
from ilc.aggregators.iga import Iga
from ilc.aggregators.joint import JointAggregator, Weighting
from ilc.aggregators.layer_agreement import LayerAgreement
from ilc.aggregators.mean import Mean, MeanOfEnvironments
from ilc.aggregators.sand_mask import SandMask
from ilc.aggregators.sign_election import SignElection
from ilc.aggregators.statistics import ON_REQUEST, GradientStatistics
from ilc.aggregators.v_rex import VRex
from ilc.aggregators.xor_mask import XorMask

__all__ = [
    "ON_REQUEST",
    "Aggregator",
    "AgreementRandom",
    "AgreementSum",
    "AndMask",
    "Combined",
    "Eqrm",
    "GeometricMean",
    "GradDrop",
    "GradientStatistics",
    "GramAgreement",
    "GramWeights",
    "GroupDro",
    "Iga",
    "JointAggregator",
    "LayerAgreement",
    "Mean",
    "MeanOfEnvironments",
    "SandMask",
    "SignElection",
    "VRex",
    "Weighting",
    "XorMask",
]
