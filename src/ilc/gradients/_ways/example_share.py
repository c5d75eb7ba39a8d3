"""One vote per example, its share of the batch gradient, from a single backward pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.gradients._environment import EnvironmentGradients, trainable_parameters
from ilc.gradients._example_terms.rules import RULES, WRITTEN_OUT
from ilc.gradients._example_terms.sums import summed
from ilc.gradients._example_terms.watched_layers import check_first_axis, layers_of, name_of, watched
from ilc.gradients._passes.example_losses import losses_of_examples
from ilc.objectives import ObjectiveFunction


def example_share(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    also: Sequence[str] = (),
    written_out: bool = True,
) -> EnvironmentGradients:
    """Let every example vote with its share of the batch gradient.

    For the risk ``R = sum_i r_i`` of a batch and a layer with input ``x_i`` and output gradient
    ``delta_i = dR / dy_i``, the gradient of the layer's weight is a sum over examples; example i's
    share is its term, for a linear layer ``delta_i x_i^T``. Shares sum to the batch gradient.

    Where examples do not mix (GroupNorm, LayerNorm, no norm) the share is the gradient of the
    example's own risk. Under BatchNorm in training mode it is not: ``delta_i`` then holds what
    changing ``y_i`` does to all examples through the batch statistics. Which vote is which, with
    their overlap: ``example_local``.

    Beyond a plain step it needs memory for the statistics, twice the parameters, and for a few
    shares at a time. Weight gradients are not computed a second time, parameters and their hooks
    are left as they were, and BatchNorm's running statistics move once, as in a plain step.
    Works with frozen parameters and under autocast.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        also: sums that the aggregator asks for beside the usual ones.
        written_out: write every share down and add them up in one order everywhere, as the committed
            results of section 3.2 were made, rather than the fastest way.

    Raises:
        UserError: a layer without a rule, a layer used twice or not at all, shared parameters, a
            compiled model, more than one example per environment.
    """
    trainable = trainable_parameters(model)
    layers = layers_of(model, trainable)
    n = len(inputs)
    statistics: dict[str, GradientStatistics] = {}
    starts: list[GradientEdge] = []

    def collect(layer: nn.Module, x: Tensor, delta: Tensor) -> None:
        check_first_axis(name_of(layers[layer]), x, delta, n)
        rules = WRITTEN_OUT if written_out else RULES
        shares = rules[type(layer)](layer, x, delta)
        for key, name in layers[layer].items():
            statistics[name] = summed(shares[key], trainable[name], n, also, in_order=written_out)

    with watched(layers, collect, starts):
        objectives = losses_of_examples(model, loss_fn, model(inputs.detach().flatten(0, 1)), targets)
        # Nobody asks for the gradients of the weights, so that autograd does not compute them again.
        if starts:  # Else a layer is missing, which the way out of here says.
            torch.autograd.grad(objectives.loss.sum(), starts, allow_unused=True)
    for name, p in trainable.items():
        if name not in statistics:  # Called, but the risk does not reach it: no vote.
            statistics[name] = GradientStatistics.of_zeros(n, p, also)
    ordered = {name: statistics[name] for name in trainable}
    risks, penalties = (widened(values.detach()) for values in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risks, ordered, penalties)
