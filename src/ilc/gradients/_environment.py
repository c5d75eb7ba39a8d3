"""What every way to obtain environment gradients takes and returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._passes.graph import check_graph
from ilc.objectives import Objective, RiskFunction

__all__ = [
    "EnvironmentGradients",
    "RiskFunction",
    "as_objective",
    "checked_objective",
    "checked_risk",
    "dense",
    "device_of",
    "differentiated",
    "scalar_objective",
    "trainable_parameters",
]


class EnvironmentGradients(NamedTuple):
    """Risks ``[E]`` and, for each trainable parameter, the statistics of its E gradients.

    ``penalties`` ``[E]`` are unscaled, and zero if the objective is only the risk. All are float32 or wider,
    whatever the model's type is.
    """

    risks: Tensor
    statistics: dict[str, GradientStatistics]
    penalties: Tensor | None = None


def of_all_parameters(
    objectives: Objective,
    statistics: dict[str, GradientStatistics],
    parameters: dict[str, nn.Parameter],
    also: Sequence[str],
) -> EnvironmentGradients:
    """The result of a pass that did not reach every parameter. Those that it did not reach have no vote.

    Args:
        objectives: of the environments, ``[E]``.
        statistics: of the parameters that were reached.
        parameters: all of them, in their order.
        also: as for ``GradientStatistics.zeros``.
    """
    n = len(objectives.risk)
    every = {
        name: statistics[name] if name in statistics else GradientStatistics.of_zeros(n, p, also)
        for name, p in parameters.items()
    }
    risks, penalties = (widened(values.detach()) for values in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risks, every, penalties)


def trainable_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that training may change, by name.

    Raises:
        UserError: there is no such parameter, or one has no shape yet, is complex, or is on the meta device.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise UserError("the model has no trainable parameter: set requires_grad=True on at least one")
    lazy = next((name for name, p in parameters.items() if is_lazy(p)), None)
    if lazy is not None:
        raise UserError(
            f"{lazy} has no shape before the first pass: call the model once on a batch, and create the "
            "optimizer after that"
        )
    for name, p in parameters.items():
        if p.is_complex():
            raise UserError(
                f"{name} is complex ({p.dtype}), and a complex gradient has no sign to vote with: keep real "
                "and imaginary part as a real parameter, and call torch.view_as_complex on it in forward"
            )
        if p.is_meta:
            raise UserError(
                f"{name} is on the meta device, which holds no numbers: call model.to_empty(device=...) and "
                "load the weights"
            )
    return parameters


def device_of(model: nn.Module) -> torch.device:
    """The device of the first parameter."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def differentiated(loss: Tensor, model: nn.Module, parameters: dict[str, nn.Parameter]) -> tuple[Tensor, ...]:
    """The dense gradients of the loss; zeros, which are no vote, for a parameter that it does not reach.

    Raises:
        UserError: as for ``check_graph``.
    """
    check_graph(loss, model)
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True, materialize_grads=True)
    return tuple(dense(gradient) for gradient in found)


def dense(gradient: Tensor) -> Tensor:
    """The gradient as a dense tensor. A row that no example looked up is zero and casts no vote."""
    return gradient if gradient.layout == torch.strided else gradient.to_dense()


def checked_risk(risk: Tensor) -> Tensor:
    """Return the risk if it is a differentiable scalar.

    Raises:
        UserError: the risk is not a scalar, or depends on no trainable parameter.
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
    if risk.is_complex():
        raise UserError(
            f"loss_fn must return a real risk, got {risk.dtype}: take its absolute value or its real part"
        )


def as_objective(value: Tensor | Objective) -> Objective:
    """Return the objective, or an objective whose loss is this risk.

    Raises:
        UserError: the value is neither, or the objective holds something other than tensors.
    """
    parts = value if isinstance(value, Objective) else (value,)
    strange = next((part for part in parts if not isinstance(part, Tensor)), None)
    if strange is not None or not isinstance(value, (Tensor, Objective)):
        raise UserError(
            "loss_fn must return the mean risk of one environment, a scalar tensor, or an Objective that "
            f"holds three such tensors, got {type(value if strange is None else strange).__name__}"
        )
    return value if isinstance(value, Objective) else Objective(value, value, torch.zeros_like(value))


def scalar_objective(value: Tensor | Objective) -> Objective:
    """Check that all parts are real scalars. Under ``vmap`` nothing more can be checked."""
    objective = as_objective(value)
    for part in objective:
        _check_scalar(part)
    return objective


def checked_objective(value: Tensor | Objective) -> Objective:
    """Check that all parts are real scalars and that the loss can be differentiated."""
    objective = scalar_objective(value)
    checked_risk(objective.loss)
    return objective
