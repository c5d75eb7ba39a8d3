"""Environments whose losses are given: as functions that compute them, or as tensors with their graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc.aggregators import Aggregator, GradientStatistics, JointAggregator
from ilc.errors import UserError
from ilc.gradients._environment import (
    EnvironmentGradients,
    checked_objective,
    dense,
    trainable_parameters,
)
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.objectives import Objective

OneLoss = Callable[[], "Tensor | Objective"] | Tensor | Objective
"""A function without arguments that returns the mean risk of one environment, or this risk with its graph."""

Loss = Callable[..., "Tensor | Objective"] | Sequence[OneLoss]
"""``loss_fn(outputs, targets)``, ``loss_fn(outputs)``, or a list with a loss for each environment."""


def check_losses_given(
    losses: Any, inputs: Any, targets: Any, aggregator: Aggregator, gradients: str
) -> None:
    """Raise UserError if there is a batch beside the losses, or if something needs passes of its own."""
    if not isinstance(losses, list | tuple):
        raise UserError(
            f"loss_fn must be a function, or a list with a loss per environment, got {type(losses).__name__}"
        )
    if isinstance(losses, Objective):  # It is a tuple, of a loss, a risk and a penalty.
        raise UserError(
            "loss_fn is one Objective, and not a list with a loss per environment: give [objective]"
        )
    if inputs is not None or targets is not None:
        raise UserError(
            "loss_fn is a list with a loss per environment, and there are inputs or targets too: the losses "
            "hold everything already, so give no batch, or give one loss_fn(outputs, targets)"
        )
    if gradients not in ("vectorized", "sequential") or isinstance(aggregator, JointAggregator):
        what = type(aggregator).__name__ if isinstance(aggregator, JointAggregator) else repr(gradients)
        raise UserError(
            f"{what} makes its own passes, and loss_fn is a list of losses: give one loss_fn and a batch, or "
            "take gradients='sequential' and an aggregator of sums, such as AndMask(agreement_threshold=0.8)"
        )


def of_losses(model: nn.Module, losses: Sequence[OneLoss], also: Sequence[str] = ()) -> EnvironmentGradients:
    """Differentiate one loss after another, whatever they are made of.

    Functions are called in turn, so that there is one graph at a time. BatchNorm then behaves as in
    ``sequential``. Tensors have made their passes already, so that their graphs are in memory together and
    the buffers stay as the passes left them.

    Raises:
        UserError: there is no loss, or one is no real scalar or depends on no trainable parameter.
    """
    parameters = trainable_parameters(model)
    if not len(losses):
        raise UserError("there is no environment: give one loss, or a function that returns it, for each")
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in parameters.items()}
    risks, penalties = [], []
    later = callable(losses[0])
    if any(callable(loss) != later for loss in losses):
        raise UserError("some losses are functions and some are not: give a function for every environment")
    buffers = MeanOfBuffers(model) if later else None
    with buffers or nullcontext():
        for e, loss in enumerate(losses):
            if buffers:
                buffers.restart()
            objective = _objective_of(loss, e)
            check_graph(objective.loss, model)
            # Losses that were made together may share parts of their graph.
            gradients = _differentiated(objective.loss, list(parameters.values()), retain_graph=not later)
            for running, gradient in zip(statistics.values(), gradients, strict=True):
                running.add_(dense(gradient).unsqueeze(0))
            risks.append(widened(objective.risk.detach()))
            penalties.append(widened(objective.penalty.detach()))
            if buffers:
                buffers.collect()
    return EnvironmentGradients(torch.stack(risks), statistics, torch.stack(penalties))


def _differentiated(loss: Tensor, parameters: list[nn.Parameter], retain_graph: bool) -> tuple[Tensor, ...]:
    try:
        return torch.autograd.grad(
            loss, parameters, retain_graph=retain_graph, allow_unused=True, materialize_grads=True
        )
    except RuntimeError as error:
        if "donated buffers" not in str(error):
            raise
        raise UserError(
            "a loss in the list comes from a compiled model, whose graph serves one backward pass only, but "
            "losses may share parts of their graph: give a function for every environment, as in "
            "lambda: loss(model(x), y)"
        ) from error


def _objective_of(loss: OneLoss, e: int) -> Objective:
    value: Any = loss() if callable(loss) else loss
    try:
        return checked_objective(value)
    except UserError as error:
        raise UserError(f"the loss of environment {e}: {error}") from error
