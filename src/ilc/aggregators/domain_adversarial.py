"""DANN: a mean, after a domain classifier's risk was added to every environment's risk."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ilc.aggregators.mean import Mean
from ilc.errors import UserError
from ilc.models.domain_adversarial import DomainAdversarialOutputs
from ilc.objectives import Objective, ObjectiveFunction, RiskFunction


class DomainAdversarial(Mean):
    """Minimise risk + domain risk, whose gradient the model reverses for its features (Ganin et al., 2016).

    An environment's number is its place along the first axis of the batch. Needs a model that
    returns ``DomainAdversarialOutputs`` in training, such as ``ilc.models.DomainAdversarialMLP``.
    The domain risk is reported as the penalty.
    """

    needs_environments = True

    def prepare_targets(self, targets: Tensor) -> Tensor:
        """Class indices ``[E, N]`` beside the environment's number: ``[E, N, 2]``.

        Raises:
            UserError: targets that are no class indices.
        """
        if targets.ndim != 2 or targets.is_floating_point():
            raise UserError(
                "aggregator=dann needs class indices [E, N] as targets, got "
                f"{targets.dtype} {tuple(targets.shape)}: choose another aggregator for this dataset"
            )
        domains = torch.arange(len(targets), device=targets.device).unsqueeze(1).expand_as(targets)
        return torch.stack([targets.long(), domains], dim=-1)

    def objective(self, risk_function: RiskFunction) -> ObjectiveFunction:
        """Risk plus domain risk of one environment, from targets ``[N, 2]``."""

        def risk_and_domain_risk(outputs: Any, targets: Tensor) -> Objective:
            if not isinstance(outputs, DomainAdversarialOutputs):
                raise UserError(
                    "aggregator=dann needs a model that tells environments apart: add model=dann, or return "
                    "ilc.models.DomainAdversarialOutputs in training"
                )
            risk = risk_function(outputs.labels, targets[:, 0])
            domain_risk = F.cross_entropy(outputs.domains, targets[:, 1])
            return Objective(risk + domain_risk, risk, domain_risk)

        return risk_and_domain_risk
