"""Many environments in one pass: the fastest way, which needs the memory of a few gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import grad

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._environment import EnvironmentGradients, trainable_parameters
from ilc.gradients._passes.over_environments import (
    check_nothing_left_out,
    keep_mean_of_buffers,
    one_environment,
    over_environments,
    state_of,
)
from ilc.gradients._tensor_tree import Values, versions_of
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._ways.by_layers import NoLayerError, by_layers
from ilc.objectives import ObjectiveFunction

# Bytes of gradients that are held at once. A CPU is fastest while they stay in its cache (1.3 times on a
# 3 x 256 perceptron). An accelerator is fastest with as many environments at once as its memory allows.
_BYTES_AT_ONCE = {"cpu": 10 * 2**20}
_BYTES_AT_ONCE_ON_ACCELERATORS = 2**30


def vectorized(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Differentiate the risks of many environments at once: layer by layer if that is exact, else by vmap.

    A model of linear layers, embeddings and LayerNorm that mixes no examples goes ``by_layers``, which costs
    a fraction on a CPU. A trial on two environments compares with a plain loop which way is right. The trial
    is made when model and loss are new and when they have changed (``choose_way``). If something acts on
    gradients that ``torch.func`` would leave out, such as hooks, the environments go one after another.

    BatchNorm in training mode behaves as in ``sequential``: each environment is normalised by its own batch
    statistics, and the running statistics end as the mean over environments. Dropout draws an independent
    mask per environment and example. Its draws differ from those of ``sequential``.

    Raises:
        UserError: there is no trainable parameter, or the risk is no scalar or depends on none.
    """
    way = choose_way(model, loss_fn, inputs, targets, by_vmap, by_layers)
    before = versions_of(inputs), versions_of(targets)
    try:
        return way(model, loss_fn, inputs, targets, also)
    except NoLayerError:  # Something that no trial could see has switched on another computation.
        if before != (versions_of(inputs), versions_of(targets)):
            raise UserError(
                "the model computes something else than in its first step, and it writes into its inputs, "
                "so the step cannot be made again from the same inputs: let the model work on a copy, "
                "x.clone()"
            ) from None
        return by_vmap(model, loss_fn, inputs, targets, also)


def by_vmap(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """Do ``vectorized`` for every model that ``torch.func`` can differentiate.

    Raises:
        UserError: as for ``vectorized``.
    """
    parameters = {name: p.detach() for name, p in trainable_parameters(model).items()}
    differentiate = over_environments(grad(one_environment(model, loss_fn), has_aux=True), model)
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in parameters.items()}
    risks, penalties, states = [], [], []
    n_passes = _passes(parameters, inputs)
    xs: Sequence[Values] = inputs.detach().tensor_split(n_passes)
    ys: Sequence[Values] = targets.detach().tensor_split(n_passes)
    for x, y in zip(xs, ys, strict=True):
        gradients, (risk, penalty, state, losses) = differentiate(parameters, state_of(model, len(x)), x, y)
        check_nothing_left_out(losses)
        for name, gradient in gradients.items():
            statistics[name].add_(gradient)
        risks.append(risk)
        penalties.append(penalty)
        states.append(state)
    if model.training:
        keep_mean_of_buffers(model, states)
    return EnvironmentGradients(widened(torch.cat(risks)), statistics, widened(torch.cat(penalties)))


def _passes(parameters: dict[str, Tensor], inputs: Values) -> int:
    """The number of passes over which the environments are divided."""
    bytes_per_environment = sum(p.numel() * p.element_size() for p in parameters.values())
    budget = _BYTES_AT_ONCE.get(inputs.device.type, _BYTES_AT_ONCE_ON_ACCELERATORS)
    return min(len(inputs), math.ceil(len(inputs) * bytes_per_environment / budget))
