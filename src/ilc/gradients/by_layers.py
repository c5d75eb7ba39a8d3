"""Gradients of environments layer by layer, for models that mix no examples."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge
from torch.func import vmap

from ilc.aggregators import GradientStatistics
from ilc.gradients.environment import (
    EnvironmentGradients,
    checked_risk,
    scalar_objective,
    trainable_parameters,
)
from ilc.gradients.shares.rules import RULES
from ilc.gradients.shares.sums import summed
from ilc.gradients.shares.watched_layers import layers_of, watched
from ilc.objectives import ObjectiveFunction
from ilc.precision import widened

# Their rules take any axes between environment and features.
_KINDS = (nn.Linear, nn.LayerNorm, nn.Embedding)

_checked: WeakKeyDictionary[nn.Module, dict[object, bool]] = WeakKeyDictionary()


def by_layers(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, also: Sequence[str] = ()
) -> EnvironmentGradients:
    """What ``vectorized`` gives, where an example's output depends on that example alone.

    All examples go through the model as one batch. The gradient of an environment's risk with respect
    to a linear layer's weight is then ``delta_e^T x_e``, of the environment's rows ``[N, out]`` and
    ``[N, in]`` of that batch: made, added and signed a tile at a time, never written as a whole.

    Raises:
        UserError: a layer without a rule, a layer used twice or not at all, shared parameters.
    """
    trainable = trainable_parameters(model)
    layers = layers_of(model, trainable)
    shape = inputs.shape[:2]
    statistics: dict[str, GradientStatistics] = {}
    starts: list[GradientEdge] = []

    def collect(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        shares = RULES[type(layer)](layer, _by_environment(x, shape), _by_environment(delta, shape))
        for key, name in layers[layer].items():
            statistics[name] = summed(shares[key], trainable[name], shape[0], also)

    with watched(layers, collect, starts):
        outputs = model(inputs.detach().flatten(0, 1))
        each = vmap(lambda output, target: scalar_objective(loss_fn(output, target)), randomness="different")
        objectives = each(_by_environment(outputs, shape), targets)
        checked_risk(objectives.loss.sum())
        if starts:  # Else a layer is missing, which the way out of here says.
            torch.autograd.grad(objectives.loss.sum(), starts, allow_unused=True)
    for name, p in trainable.items():
        if name not in statistics:  # Called, but the risk does not reach it: no vote.
            statistics[name] = GradientStatistics.zeros(p, also)
            statistics[name].n_environments = shape[0]
    ordered = {name: statistics[name] for name in trainable}
    risks, penalties = (widened(values.detach()) for values in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risks, ordered, penalties)


def _by_environment(values: Tensor, shape: torch.Size) -> Tensor:
    return values.reshape(*shape, *values.shape[1:])


def may_go_by_layers(model: nn.Module, inputs: Tensor) -> bool:
    """Whether it is worth a comparison: on a CPU, with known layers, without state or dropout."""
    if inputs.device.type != "cpu" or inputs.shape[0] < 2 or hasattr(model, "_orig_mod"):
        return False
    for layer in model.modules():
        known = type(layer) in _KINDS
        if not known and any(p.requires_grad for p in layer.parameters(recurse=False)):
            return False
        if layer.training and isinstance(layer, nn.modules.dropout._DropoutNd):
            return False
    return not model.training or next(model.buffers(), None) is None


def agrees(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    oracle: EnvironmentGradients,
) -> bool:
    """Whether ``by_layers`` gives what the oracle does for these environments.

    Whether a model mixes examples cannot be read off it, but shows in the numbers.
    """
    try:
        found = by_layers(model, loss_fn, inputs, targets)
    except Exception:  # Whatever stops it, vmap may do, or says why it cannot.
        return False
    pairs = [(found.risks, oracle.risks)]
    pairs += [(found.statistics[name].total, one.total) for name, one in oracle.statistics.items()]
    return all(ours.dtype == theirs.dtype for ours, theirs in pairs) and all(
        torch.allclose(ours, theirs, rtol=1e-3, atol=1e-5 * float(theirs.abs().max()))
        for ours, theirs in pairs
    )


def known_answers(model: nn.Module) -> dict[object, bool]:
    """What ``agrees`` said about this model before; forgotten with the model."""
    return _checked.setdefault(model, {})
