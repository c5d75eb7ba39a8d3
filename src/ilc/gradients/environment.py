"""What every way of obtaining environment gradients takes and returns."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.objectives import Objective, RiskFunction

__all__ = [
    "EnvironmentGradients",
    "RiskFunction",
    "as_objective",
    "checked_objective",
    "checked_risk",
    "scalar_objective",
    "trainable_parameters",
]


class EnvironmentGradients(NamedTuple):
    """Risks ``[E]`` and, for each trainable parameter, the statistics of its E gradients.

    ``penalties`` ``[E]``, unscaled, are zero where the objective is the risk alone.
    """

    risks: Tensor
    statistics: dict[str, GradientStatistics]
    penalties: Tensor | None = None


def trainable_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that training may change, by name.

    Raises:
        UserError: there are none.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise UserError("the model has no trainable parameter: set requires_grad=True on at least one")
    return parameters


def checked_risk(risk: Tensor) -> Tensor:
    """The risk itself, if it is a differentiable scalar.

    Raises:
        UserError: it is not a scalar, or no trainable parameter reaches it.
    """
    _check_scalar(risk)
    if not risk.requires_grad:
        raise UserError(
            "the risk does not depend on any trainable parameter: check that the model and loss_fn "
            "neither detach nor run under torch.no_grad()"
        )
    return risk


def _check_scalar(risk: Tensor) -> None:
    if risk.ndim != 0:
        raise UserError(
            f"loss_fn must return the mean risk of one environment, a scalar, got shape {tuple(risk.shape)}: "
            "average over the examples"
        )


def as_objective(value: Tensor | Objective) -> Objective:
    """The objective itself, or the one whose loss is this risk."""
    return value if isinstance(value, Objective) else Objective(value, value, torch.zeros_like(value))


def scalar_objective(value: Tensor | Objective) -> Objective:
    """The same, if its loss is a scalar: under ``vmap`` one cannot see whether it can be differentiated."""
    objective = as_objective(value)
    _check_scalar(objective.loss)
    return objective


def checked_objective(value: Tensor | Objective) -> Objective:
    """The same, its loss checked as ``checked_risk`` does."""
    objective = as_objective(value)
    checked_risk(objective.loss)
    return objective
