"""Aggregators: each combines the gradients of all environments into one update."""

from ilc.aggregators._agreement_random import AgreementRandom
from ilc.aggregators._agreement_sum import AgreementSum
from ilc.aggregators._and_mask import AndMask
from ilc.aggregators._base import Aggregator, Combined
from ilc.aggregators._eqrm import Eqrm
from ilc.aggregators._geometric_mean import GeometricMean
from ilc.aggregators._grad_drop import GradDrop
from ilc.aggregators._gram_agreement import GramAgreement
from ilc.aggregators._gram_weights import GramWeights
from ilc.aggregators._group_dro import GroupDro
from ilc.aggregators._iga import Iga
from ilc.aggregators._joint import JointAggregator, Weighting
from ilc.aggregators._layer_agreement import LayerAgreement
from ilc.aggregators._mean import Mean, MeanOfEnvironments
from ilc.aggregators._sand_mask import SandMask
from ilc.aggregators._sign_election import SignElection
from ilc.aggregators._statistics import ON_REQUEST, GradientStatistics
from ilc.aggregators._v_rex import VRex
from ilc.aggregators._xor_mask import XorMask

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
