"""Mixup: training on weighted means of two environments' examples."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.methods.whole_batch import WholeBatchMethod, pairs, risks_of


class Mixup(WholeBatchMethod):
    """Minimise the risk of ``l x + (1 - l) x'`` with ``l y + (1 - l) y'`` (Yan et al., arXiv 2001.00677).

    Examples x and x' come from two environments, in random pairs of environments. The weight l is drawn from
    a Beta distribution for each pair, as in DomainBed. The risk of mixed targets is the mixed risk.

    Deviation: the source mixes a labelled domain with one that has no labels. DomainBed mixes training
    environments, as here. Its batches are random. If a batch is the whole data, whose order never changes,
    the examples of x' are in a new random order in each step.

    Args:
        alpha: both parameters of the Beta distribution, above 0.

    Raises:
        UserError: alpha is not above 0, or not finite.
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        if not 0 < alpha < math.inf:
            raise UserError(f"aggregator.alpha must be finite and above 0, got {alpha!r}")
        self.alpha = alpha
        self._always_the_same = False

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """A sampler with batches of every environment; see ``WholeBatchMethod``. Note if a batch is all."""
        self._always_the_same = options.batch_size in (None, data.examples_per_environment)
        return super().sampler(data, options)

    def loss(
        self, model: nn.Module, objective: ObjectiveFunction, inputs: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean of the mixed risks, and the mixed risk of each pair."""
        first, second = pairs(len(inputs))
        partners, wanted = inputs[second], targets[second]
        # Drawn on the CPU, so that the weights are the same on every device.
        alpha = torch.full((len(inputs),), self.alpha)
        weights = torch.distributions.Beta(alpha, alpha).sample().to(inputs)
        if self._always_the_same:  # Otherwise each example would have the same partner in every step.
            order = torch.randperm(inputs.shape[1])
            partners, wanted = partners[:, order], wanted[:, order]
        of_each = weights.view(-1, *[1] * (inputs.ndim - 1))
        outputs = model((of_each * inputs[first] + (1 - of_each) * partners).flatten(0, 1))
        risks = weights * risks_of(objective, outputs, targets[first])
        risks = risks + (1 - weights) * risks_of(objective, outputs, wanted)
        return risks.mean(), risks, torch.zeros_like(risks)
