"""Only the sum over examples, each an environment of its own, at the cost of plain training."""

from __future__ import annotations

import torch
from torch import nn

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import EnvironmentGradients, differentiated, trainable_parameters
from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._tensor_tree import Values
from ilc.objectives import ObjectiveFunction


def example_sum_only(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> EnvironmentGradients:
    """Differentiate the sum of the examples' risks, for an aggregator whose ``is_mean`` is true.

    One forward and one backward pass. The total is that of ``example_local``, ``example_share`` and
    ``example_loss``; the statistics hold no votes: their ``sign_sum`` is NaN.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.

    Raises:
        UserError: as for ``example_objectives``, or there is no trainable parameter.
    """
    parameters = trainable_parameters(model)
    objectives = pass_of_examples(model, loss_fn, inputs, targets)
    # Under autocast the sum over the examples is in half precision. As a mean it stays in range.
    divisor = len(inputs) if torch.is_autocast_enabled(inputs.device.type) else 1
    gradients = differentiated(objectives.loss.sum() / divisor, model, parameters)
    statistics = {
        name: GradientStatistics.without_votes(len(inputs), gradient if divisor == 1 else gradient * divisor)
        for name, gradient in zip(parameters, gradients, strict=True)
    }
    risk, penalty = (widened(value.detach()) for value in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risk, statistics, penalty)
