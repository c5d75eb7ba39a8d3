"""The methods that change the training loop: one per file, each with a config in ``conf/aggregator/``."""

from lab.environment_task.methods.domain_adversarial import DomainAdversarial
from lab.environment_task.methods.feature_matching import FeatureMatching
from lab.environment_task.methods.fishr import Fishr
from lab.environment_task.methods.gradient_agreement import GradientAgreementFiltering
from lab.environment_task.methods.irm_penalty import IrmPenalty
from lab.environment_task.methods.late_penalty import LateVRex
from lab.environment_task.methods.meta_learning import MetaLearning
from lab.environment_task.methods.micro_batch_median import MicroBatchMedian
from lab.environment_task.methods.mixup import Mixup
from lab.environment_task.methods.self_challenging import SelfChallenging
from lab.environment_task.methods.temporal_mask import TemporalMask

__all__ = [
    "DomainAdversarial",
    "FeatureMatching",
    "Fishr",
    "GradientAgreementFiltering",
    "IrmPenalty",
    "LateVRex",
    "MetaLearning",
    "MicroBatchMedian",
    "Mixup",
    "SelfChallenging",
    "TemporalMask",
]
