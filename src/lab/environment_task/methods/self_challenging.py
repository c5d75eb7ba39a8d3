"""RSC: training without the features that the prediction depends on most."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction
from lab.data import Environments
from lab.environment_task.methods.last_layer import LastInputs, last_layer
from lab.environment_task.methods.whole_batch import WholeBatchMethod, risks_of


class SelfChallenging(WholeBatchMethod):
    """Mute the features of an example that its true class depends on most (Huang et al., arXiv 2007.02454).

    The features are the inputs of the last linear layer. A feature is muted if the derivative of the true
    class's output by it is in the upper ``feature_share``. Only the ``example_share`` of the examples whose
    true class loses most probability is muted. Both quantiles are taken as in DomainBed.

    Args:
        feature_share: the share of the features that are muted, in [0, 1].
        example_share: the share of the examples that are muted, in [0, 1].

    Raises:
        UserError: a share is outside [0, 1].
    """

    def __init__(self, feature_share: float = 1 / 3, example_share: float = 1 / 3) -> None:
        super().__init__()
        if not (0 <= feature_share <= 1 and 0 <= example_share <= 1):
            raise UserError(
                "aggregator.feature_share and aggregator.example_share must lie in [0, 1], got "
                f"{feature_share!r} and {example_share!r}"
            )
        self.feature_share, self.example_share = feature_share, example_share
        self._layer, self._last = nn.Linear(1, 1), LastInputs()

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Note the features; raise UserError without a linear layer, or if targets are no classes."""
        self._layer, self._last = last_layer(model, self.name)
        if data.targets_are != "classes":
            raise UserError(
                f"aggregator={self.name} needs classes as targets, but the targets of this dataset are "
                f"{data.targets_are}: choose another aggregator"
            )

    def loss(
        self, model: nn.Module, objective: ObjectiveFunction, inputs: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean risk with muted features, and the risk of each environment."""
        outputs, classes = model(inputs.flatten(0, 1)), targets.flatten()
        features = self._last.inputs
        with torch.no_grad():
            # The derivatives of the true class's output are the weights of that class.
            slopes = self._layer.weight[classes]
            kept = slopes < slopes.quantile(1 - self.feature_share, dim=1, keepdim=True)
            muted = self._outputs(features * kept)
            loses = _probability(outputs, classes) - _probability(muted, classes)
            spared = loses < loses.quantile(1 - self.example_share)
            kept |= spared[:, None]
        risks = risks_of(objective, self._outputs(features * kept), targets)
        return risks.mean(), risks, torch.zeros_like(risks)

    def _outputs(self, features: Tensor) -> Tensor:
        # Not by a call of the layer, so that the noted features stay.
        return F.linear(features, self._layer.weight, self._layer.bias)


def _probability(outputs: Tensor, classes: Tensor) -> Tensor:
    """Return the probability of each example's true class, ``[N]``."""
    return outputs.softmax(1).gather(1, classes[:, None])[:, 0]
