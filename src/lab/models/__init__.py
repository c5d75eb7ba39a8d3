"""The networks of the experiments, which can be imported without the experiments."""

from lab.models.domain_adversarial import DomainAdversarialMLP, DomainAdversarialOutputs
from lab.models.fast_resnet import FastResNet
from lab.models.kaiming_mlp import KaimingMLP
from lab.models.linear import Linear
from lab.models.mlp import MLP
from lab.models.relu_mlp import ReluMLP
from lab.models.resnet18 import ResNet18

__all__ = [
    "MLP",
    "DomainAdversarialMLP",
    "DomainAdversarialOutputs",
    "FastResNet",
    "KaimingMLP",
    "Linear",
    "ReluMLP",
    "ResNet18",
]
