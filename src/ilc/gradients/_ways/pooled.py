"""All environments as one batch: plain PyTorch training, which does not know environments."""

from __future__ import annotations

from collections.abc import Sequence

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
from ilc.gradients._tensor_tree import Values
from ilc.objectives import ObjectiveFunction


def pooled(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Differentiate the risk of all E * N examples together; this works for the mean only.

    The result equals that of ``vectorized`` unless a layer such as BatchNorm mixes examples. Here it mixes
    the examples of all environments. There is one risk, ``[1]``, and there are no votes: ``sign_sum`` is NaN.

    Raises:
        UserError: there is no trainable parameter, or the risk cannot be differentiated.
    """
    del also
    parameters = trainable_parameters(model)
    outputs = outputs_of(model, inputs.flatten(0, 1))
    objective = checked_objective(value_of(loss_fn, outputs, targets.flatten(0, 1)))
    gradients = differentiated(objective.loss, model, parameters)
    statistics = {
        name: GradientStatistics.without_votes(1, widened(gradient))
        for name, gradient in zip(parameters, gradients, strict=True)
    }
    risk, penalty = (widened(value.detach()[None]) for value in (objective.risk, objective.penalty))
    return EnvironmentGradients(risk, statistics, penalty)
