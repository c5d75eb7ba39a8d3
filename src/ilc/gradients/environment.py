"""What every way of obtaining environment gradients takes and returns."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.objectives import Objective, RiskFunction

__all__ = [
    "EnvironmentGradients",
    "RiskFunction",
    "as_objective",
    "checked_objective",
    "checked_risk",
    "differentiated",
    "refuse_reentrant_checkpoints",
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
        UserError: there are none, or one has no shape yet.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise UserError("the model has no trainable parameter: set requires_grad=True on at least one")
    lazy = next((name for name, p in parameters.items() if is_lazy(p)), None)
    if lazy is not None:
        raise UserError(
            f"{lazy} has no shape before the first pass: call the model once on a batch, and make the "
            "optimizer then"
        )
    return parameters


def differentiated(loss: Tensor, model: nn.Module, parameters: dict[str, nn.Parameter]) -> tuple[Tensor, ...]:
    """The loss's gradients; of a parameter that it does not reach zeros, which are no vote.

    Raises:
        UserError: as ``refuse_reentrant_checkpoints``.
    """
    refuse_reentrant_checkpoints(loss, model)
    return torch.autograd.grad(loss, list(parameters.values()), allow_unused=True, materialize_grads=True)


_seen: WeakSet[nn.Module] = WeakSet()


def refuse_reentrant_checkpoints(loss: Tensor, model: nn.Module) -> None:
    """Look through the graph behind a loss, when a model is first met.

    Raises:
        UserError: it has activation checkpoints of the kind whose gradients ``torch.autograd.grad`` leaves
            out, with or without an error.
    """
    if model in _seen:
        return
    _seen.add(model)
    waiting, visited = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if node.name() == "CheckpointFunctionBackward":
            _seen.discard(model)
            raise UserError(
                "activation checkpointing with use_reentrant=True gives gradients to loss.backward() alone: "
                "call torch.utils.checkpoint.checkpoint(..., use_reentrant=False)"
            )
        waiting += [following for following, _ in node.next_functions]


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
