"""Networks of the experiments, importable on their own."""

from ilc.models.domain_adversarial import DomainAdversarialMLP, DomainAdversarialOutputs
from ilc.models.fast_resnet import FastResNet
from ilc.models.linear import Linear
from ilc.models.mlp import MLP
from ilc.models.resnet18 import ResNet18

__all__ = ["MLP", "DomainAdversarialMLP", "DomainAdversarialOutputs", "FastResNet", "Linear", "ResNet18"]
