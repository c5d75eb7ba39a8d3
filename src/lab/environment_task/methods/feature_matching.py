"""MMD and CORAL: the mean risk, plus how far the environments' features are apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import torch
from torch import Tensor, nn

from ilc.aggregators._joint import check_penalty_weight
from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction
from lab.data import Environments
from lab.environment_task.methods.last_layer import LastInputs, last_layer
from lab.environment_task.methods.whole_batch import WholeBatchMethod, risks_of

SCALES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""The factors of the squared distance in the Gaussian kernels, which are added up."""


class FeatureMatching(WholeBatchMethod):
    """Minimise ``mean R_e + penalty_weight * mean over pairs of environments of distance(h_e, h_f)``.

    The features h are the inputs of the last linear layer. The weight and the kernels are DomainBed's.

    Deviation, as in DomainBed: CORAL's source compares covariances only, and a quarter of their mean squared
    difference is its distance. Here the means are compared too. MMD's source has an autoencoder and an
    adversary beside the distance, which are left out.

    Args:
        distance: ``gaussian`` for the maximum mean discrepancy (Li et al., CVPR 2018), or
            ``mean_covariance`` for CORAL (Sun and Saenko, arXiv 1607.01719).
        penalty_weight: the weight of the distance, at least 0.

    Raises:
        UserError: the distance is unknown, or the weight is negative or not finite.
    """

    adds_penalty = True

    def __init__(self, distance: str, penalty_weight: float = 1.0) -> None:
        super().__init__()
        if distance not in DISTANCES:
            raise UserError(f"aggregator.distance must be one of {', '.join(DISTANCES)}, got {distance!r}")
        self.distance = DISTANCES[distance]
        self.penalty_weight = check_penalty_weight(penalty_weight)
        self._last = LastInputs()

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Note the features of the model; raise UserError if it has no linear layer."""
        _, self._last = last_layer(model, self.name)

    def loss(
        self, model: nn.Module, objective: ObjectiveFunction, inputs: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss, the risks and the mean distance, which is the same for each environment."""
        risks = risks_of(objective, model(inputs.flatten(0, 1)), targets)
        features = self._last.inputs.view(*inputs.shape[:2], -1)
        apart = [self.distance(one, other) for one, other in combinations(features, 2)]
        penalty = torch.stack(apart).mean() if apart else risks.new_zeros(())
        return risks.mean() + self.penalty_weight * penalty, risks, penalty.expand(len(risks))


def gaussian(x: Tensor, y: Tensor) -> Tensor:
    """Return the squared maximum mean discrepancy of features ``[N, H]`` and ``[M, H]``."""

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        squares = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T
        # Rounding can make a distance negative.
        squares = squares.clamp_min(1e-30)
        return torch.stack([torch.exp(-scale * squares).mean() for scale in SCALES]).sum()

    return kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)


def mean_covariance(x: Tensor, y: Tensor) -> Tensor:
    """Return the mean squared differences of the means ``[H]`` and of the covariances ``[H, H]``."""
    means = (x.mean(0) - y.mean(0)).square().mean()
    return means + (x.T.cov() - y.T.cov()).square().mean()


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gaussian": gaussian,
    "mean_covariance": mean_covariance,
}
"""Distances of two sets of features by the name used in configs."""
