"""Only the sum over the environments, by one backward pass at the cost of plain training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import grad

from ilc._precision import is_narrow, widened
from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import (
    EnvironmentGradients,
    checked_risk,
    scalar_objective,
    trainable_parameters,
)
from ilc.gradients._passes.over_environments import (
    check_nothing_left_out,
    keep_mean_of_buffers,
    one_environment,
    over_environments,
    state_of,
)
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._ways.vectorized import by_vmap
from ilc.objectives import ObjectiveFunction


def sum_only(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> EnvironmentGradients:
    """Differentiate the sum of the risks, for aggregators with ``needs_votes = False``.

    BatchNorm and dropout behave as in ``vectorized``. The statistics hold no votes: their ``sign_sum`` is
    NaN. If hooks act on gradients, the environments go one after another instead, and the statistics hold
    votes. One pass adds the environments in the parameters' own type. If that is half precision, every
    environment gets a gradient of its own (``by_vmap``).

    Raises:
        UserError: as for ``vectorized``.
    """
    way = choose_way(model, loss_fn, inputs, targets, sum_only_by_func)
    return way(model, loss_fn, inputs, targets)


def sum_only_by_func(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Do ``sum_only`` for every model that ``torch.func`` can differentiate.

    Raises:
        UserError: as for ``vectorized``.
    """
    del also
    parameters = {name: p.detach() for name, p in trainable_parameters(model).items()}
    if any(is_narrow(p.dtype) for p in parameters.values()):
        return by_vmap(model, loss_fn, inputs, targets)
    # Under autocast the sum over the environments is in half precision. As a mean it stays in range.
    divisor = len(inputs) if torch.is_autocast_enabled(inputs.device.type) else 1
    each = over_environments(one_environment(model, loss_fn, scalar_objective), model)

    def of_all(
        trainable: dict[str, Tensor], x: Values, y: Values
    ) -> tuple[Tensor, tuple[Tensor, Tensor, dict[str, Tensor], Tensor]]:
        losses, seen = each(trainable, state_of(model, len(x)), x, y)
        return checked_risk(losses.sum() / divisor), seen

    gradients, (risks, penalties, state, losses) = grad(of_all, has_aux=True)(
        parameters, inputs.detach(), targets.detach()
    )
    check_nothing_left_out(losses)
    if model.training:
        keep_mean_of_buffers(model, [state])
    statistics = {
        name: GradientStatistics.without_votes(len(inputs), gradient if divisor == 1 else gradient * divisor)
        for name, gradient in gradients.items()
    }
    return EnvironmentGradients(widened(risks), statistics, widened(penalties))
