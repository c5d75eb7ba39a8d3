"""DANN: every environment's risk gets the risk of a domain classifier, and the gradients are averaged."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import MeanOfEnvironments
from ilc.errors import UserError
from ilc.objectives import Objective, ObjectiveFunction, Risk, RiskFunction
from lab.data import Environments
from lab.environment_task.evaluation import EXAMPLES_AT_ONCE
from lab.environment_task.method import Metrics, TrainingMethod
from lab.models.domain_adversarial import DomainAdversarialMLP, DomainAdversarialOutputs


class DomainAdversarial(TrainingMethod):
    """Minimise risk + domain risk (Ganin et al., 2016).

    For its features, the model reverses the domain gradient.

    The number of an environment is its index along the first axis of the batch. The method needs a model that
    returns ``DomainAdversarialOutputs`` in training, such as ``lab.models.DomainAdversarialMLP``. The metrics
    report the domain risk as the penalty.
    """

    adds_penalty = True

    def __init__(self) -> None:
        super().__init__(MeanOfEnvironments())

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Raise UserError unless targets are classes and model and data have equally many environments."""
        if not isinstance(model, DomainAdversarialMLP):
            raise UserError("aggregator=dann and model=dann need each other: choose both, or neither")
        if data.targets_are != "classes":
            raise UserError(
                "aggregator=dann needs classes as targets, but the targets of this dataset are "
                f"{data.targets_are}: choose another aggregator"
            )
        if model.n_environments != data.n_environments:
            raise UserError(
                "model.n_environments must equal the number of environments of the dataset, which is "
                f"{data.n_environments}, got {model.n_environments}: leave it out, or set "
                "dataset.n_environments"
            )

    def prepare_targets(self, targets: Tensor) -> Tensor:
        """Pair every class index of ``[E, N]`` with the number of its environment: ``[E, N, 2]``.

        Raises:
            UserError: the targets are not class indices.
        """
        if targets.ndim != 2 or targets.is_floating_point():
            raise UserError(
                "aggregator=dann needs class indices [E, N] as targets, got "
                f"{targets.dtype} {tuple(targets.shape)}: choose another aggregator for this dataset"
            )
        domains = torch.arange(len(targets), device=targets.device).unsqueeze(1).expand_as(targets)
        return torch.stack([targets.long(), domains], dim=-1)

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """The risk plus the domain risk of one environment, from targets ``[N, 2]``."""

        def risk_and_domain_risk(outputs: Any, targets: Tensor) -> Objective:
            if not isinstance(outputs, DomainAdversarialOutputs):
                raise UserError(
                    "aggregator=dann needs a model that tells environments apart: add model=dann, or let "
                    "your model return lab.models.DomainAdversarialOutputs in training"
                )
            label_risk = risk(outputs.labels, targets[:, 0])
            domain_risk = F.cross_entropy(outputs.domains, targets[:, 1])
            return Objective(label_risk + domain_risk, label_risk, domain_risk)

        return risk_and_domain_risk

    @torch.no_grad()
    def metrics(self, model: nn.Module, data: Environments, risk: Risk) -> Metrics:
        """``domain/accuracy``: how often the domain classifier finds the environment of a training example.

        A classifier that knows nothing has 1/E. The first examples of every environment are used, equally
        many from each, about 4,096 in all.
        """
        assert isinstance(model, DomainAdversarialMLP)
        some = data.inputs[:, : max(1, EXAMPLES_AT_ONCE // data.n_environments)]
        features = model.features_of(data.prepared(some.flatten(0, 1)))
        named = model.domain_classifier(features).argmax(1).view(some.shape[:2])
        true = torch.arange(len(some), device=named.device).unsqueeze(1)
        return {"domain/accuracy": float((named == true).double().mean())}
