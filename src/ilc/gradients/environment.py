"""What every way of obtaining environment gradients takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError

RiskFunction = Callable[[Tensor, Tensor], Tensor]
"""``loss_fn(outputs, targets)``: the mean risk of one environment, a scalar."""


class EnvironmentGradients(NamedTuple):
    """Risks ``[E]`` and, for each trainable parameter, the statistics of its E gradients."""

    risks: Tensor
    statistics: dict[str, GradientStatistics]


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
    if risk.ndim != 0:
        raise UserError(
            f"loss_fn must return the mean risk of one environment, a scalar, got shape {tuple(risk.shape)}: "
            "average over the examples"
        )
    if not risk.requires_grad:
        raise UserError(
            "the risk does not depend on any trainable parameter: check that the model and loss_fn "
            "neither detach nor run under torch.no_grad()"
        )
    return risk
