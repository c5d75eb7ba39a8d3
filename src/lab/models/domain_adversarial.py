"""The three perceptrons of a domain-adversarial network (Ganin et al., 2016; paper, appendix to 3.1)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from ilc.errors import UserError
from lab.models.mlp import MLP


class DomainAdversarialOutputs(NamedTuple):
    """Logits of the classes ``[N, C]`` and of the environments ``[N, E]``."""

    labels: Tensor
    domains: Tensor


class DomainAdversarialMLP(nn.Module):
    """Features, label classifier and domain classifier, each a two-layer LeakyReLU perceptron.

    In training it returns ``DomainAdversarialOutputs``; the domain classifier sees the features
    through ``reverse_gradient``, so that a step which improves the classifier makes the features worse
    for it. In evaluation mode the network returns only the class logits ``[N, out_features]``.

    Args:
        in_features: number of features of the inputs.
        out_features: number of classes.
        n_environments: E, the number of environments between which the domain classifier distinguishes.
        hidden_units: width of every hidden layer, and number of features.
        reversal_weight: factor on the reversed gradient; 1 gives both risks the same weight.
        linear_features: whether a single linear layer replaces the features' perceptron.

    Raises:
        UserError: a size is below 1, or the weight is negative or not finite.
    """

    takes: ClassVar[tuple[str, ...]] = ("vectors",)
    """The kinds of inputs that the model accepts."""

    only_with: ClassVar[str] = "dann"
    """The only method of a run that can use both outputs."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_environments: int,
        hidden_units: int = 256,
        reversal_weight: float = 1.0,
        linear_features: bool = False,
    ) -> None:
        super().__init__()
        if n_environments < 1 or not 0 <= reversal_weight < float("inf"):
            raise UserError(
                "a domain-adversarial network needs at least one environment and a finite reversal_weight of "
                f"at least 0, got {n_environments=}, {reversal_weight=}"
            )
        self.n_environments = n_environments
        self.reversal_weight = reversal_weight
        self.linear_features = linear_features
        self.features: nn.Module = (
            nn.Linear(in_features, hidden_units)
            if linear_features
            else MLP(in_features, hidden_units, hidden_units, hidden_layers=1)
        )
        self.label_classifier = MLP(hidden_units, out_features, hidden_units, hidden_layers=1)
        self.domain_classifier = MLP(hidden_units, n_environments, hidden_units, hidden_layers=1)

    def forward(self, inputs: Tensor) -> Tensor | DomainAdversarialOutputs:
        """Return the class logits, and in training also those of the environments."""
        features = self.features_of(inputs)
        labels: Tensor = self.label_classifier(features)
        if not self.training:
            return labels
        reversed_features = reverse_gradient(features, self.reversal_weight)
        return DomainAdversarialOutputs(labels, self.domain_classifier(reversed_features))

    def features_of(self, inputs: Tensor) -> Tensor:
        """Return the features ``[N, hidden_units]``, which both classifiers receive."""
        features: Tensor = self.features(inputs)
        return features if self.linear_features else F.leaky_relu(features)


def reverse_gradient(values: Tensor, weight: float = 1.0) -> Tensor:
    """Return the same values; their gradient is multiplied by ``-weight``.

    This is a sum and not an ``autograd.Function``, so that ``torch.func`` can differentiate it. With weight
    1 the values are exact; otherwise they are exact up to rounding.
    """
    return (1 + weight) * values.detach() - weight * values
