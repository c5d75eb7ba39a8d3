"""One environment after another, with memory O(P) whatever the number of environments is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import (
    EnvironmentGradients,
    checked_objective,
    differentiated,
    trainable_parameters,
)
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.gradients._tensor_tree import Values
from ilc.objectives import ObjectiveFunction


def sequential(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values | Sequence[Values],
    targets: Values | Sequence[Values],
    also: Sequence[str] = (),
) -> EnvironmentGradients:
    """Differentiate each environment's risk in turn and add it to the running statistics.

    BatchNorm in training mode normalises every environment by its own batch statistics. Every environment
    starts from the same running statistics, which end as the mean over environments (see ``ilc.gradients``).
    Dropout draws a new mask per environment and example.
    """
    parameters = trainable_parameters(model)
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in parameters.items()}
    risks = penalties = torch.empty(0)
    with MeanOfBuffers(model) as buffers:
        for e in range(len(inputs)):
            buffers.restart()
            objective = checked_objective(value_of(loss_fn, outputs_of(model, inputs[e]), targets[e]))
            if e == 0:
                # Allocated once, because many small tensors between large ones would fragment the memory.
                risks, penalties = (
                    widened(value.detach()).repeat(len(inputs))
                    for value in (objective.risk, objective.penalty)
                )
            gradients = differentiated(objective.loss, model, parameters)
            for running, gradient in zip(statistics.values(), gradients, strict=True):
                running.add_(gradient.unsqueeze(0))
            del gradients  # Otherwise they would be held during the next environment's pass.
            risks[e], penalties[e] = objective.risk.detach(), objective.penalty.detach()
            buffers.collect()
    return EnvironmentGradients(risks, statistics, penalties)
