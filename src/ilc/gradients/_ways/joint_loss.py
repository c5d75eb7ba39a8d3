"""All environments in one graph, for aggregators that look at all environments together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ilc._precision import is_narrow, widened
from ilc._processes import ONE_PROCESS, Processes
from ilc.aggregators import GradientStatistics
from ilc.aggregators._joint import JointAggregator
from ilc.errors import UserError
from ilc.gradients._environment import (
    EnvironmentGradients,
    checked_objective,
    scalar_objective,
    trainable_parameters,
)
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._passes.local_environments import LocalEnvironments, differentiated_all
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.gradients._passes.over_environments import (
    keep_mean_of_buffers,
    one_environment,
    over_environments,
    state_of,
)
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._trials.gradient_hooks import HooksInPass, what_acts_on_gradients
from ilc.gradients._trials.linear_backward import what_bends_gradients
from ilc.gradients._ways.sum_only import sum_only_by_func
from ilc.objectives import ObjectiveFunction


def joint_loss_gradients(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values | list[Values],
    targets: Values | list[Values],
    aggregator: JointAggregator,
    gradients: str,
    counts: Sequence[int] | None = None,
    processes: Processes = ONE_PROCESS,
) -> EnvironmentGradients:
    """Differentiate the loss that the aggregator makes of all environments.

    BatchNorm and dropout behave as in ``vectorized`` or ``sequential``, whichever ``gradients`` names.

    Args:
        model: called once with all environments, or once for each.
        loss_fn: the objective of one environment.
        inputs: ``[E', N, ...]``, or a list. It is empty if other processes have all environments.
        targets: like the inputs.
        aggregator: makes one loss of all environments.
        gradients: ``vectorized`` or ``sequential``.
        counts: the number of environments of each process.
        processes: the processes that share the step.

    Raises:
        UserError: the way has no graph of all environments, and as for ``sequential``.
    """
    if gradients not in ("vectorized", "sequential"):
        raise UserError(
            f"{type(aggregator).__name__} needs whole environments: take gradients='vectorized' or "
            f"'sequential' instead of {gradients!r}"
        )
    parameters = trainable_parameters(model)
    at_once = not isinstance(inputs, list) and len(inputs) > 0
    copies: dict[str, Tensor] = {}
    acts: str | None = None
    # In half precision the sum over environments has to be made in a wider type, which autograd does not do.
    narrow = any(is_narrow(p.dtype) for p in parameters.values())
    graphs: Tensor | list[Tensor]
    if gradients == "vectorized" and at_once and _can_go_at_once(model, loss_fn, inputs, targets):
        if aggregator.needs_rows or narrow:
            copies = {name: p.expand(len(inputs), *p.shape) for name, p in parameters.items()}
        losses, risks, penalties = _at_once(model, loss_fn, inputs, targets, copies)
        graphs = losses
    else:
        with HooksInPass() as hooks:
            graphs, risks, penalties = _one_by_one(model, loss_fn, inputs, targets)
        losses = torch.stack([widened(graph) for graph in graphs]) if graphs else risks
        acts = hooks.found or what_acts_on_gradients(model) or what_bends_gradients(model, loss_fn, graphs)
        # Whatever acts on gradients gets that of each environment, and not a weighted one.
        if (narrow or acts or not aggregator.needs_rows) and graphs:
            losses = losses.detach().requires_grad_()
    everything = list(parameters.values())
    environments = LocalEnvironments(
        losses, risks, everything, graphs, list(copies.values()), counts or [len(inputs)], processes
    )
    if len(graphs):
        check_graph(torch.stack(tuple(graphs)).sum(), model)
    loss, added, *shares = aggregator.loss(environments)
    found = [torch.zeros_like(p) for p in everything]
    if loss.requires_grad:
        if acts:
            _check_weights_only(aggregator, loss, everything, acts)
        found = list(differentiated_all(loss, everything, create_graph=False))
    found = [widened(gradient) for gradient in found]
    if losses.is_leaf and losses.requires_grad:
        (weights,) = differentiated_all(loss, [losses], create_graph=False)
        for weight, graph in zip(weights, graphs, strict=True):
            more = differentiated_all(graph, everything, create_graph=False)
            found = [total + weight * widened(gradient) for total, gradient in zip(found, more, strict=True)]
    # ``combine`` divides by E, after the parts of all processes are added.
    n = environments.n_environments
    statistics = {
        name: GradientStatistics.without_votes(len(inputs), gradient * n)
        for name, gradient in zip(parameters, found, strict=True)
    }
    for each in shares:
        for one, share in zip(statistics.values(), each, strict=True):
            one.kept_share = share.detach()
    return EnvironmentGradients(risks, statistics, penalties + added)


def _can_go_at_once(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any) -> bool:
    return choose_way(model, loss_fn, inputs, targets, sum_only_by_func) is sum_only_by_func


def _check_weights_only(
    aggregator: JointAggregator, loss: Tensor, parameters: list[nn.Parameter], acts: str
) -> None:
    """Raise UserError unless the loss only weighs the environments' losses, which then are leaves.

    Hooks have acted on the gradients of environments. They would act again on what these gradients become.
    """
    reached = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    if any(gradient is not None for gradient in reached):
        raise UserError(
            f"{type(aggregator).__name__} makes its update by a second differentiation, but {acts}: take the "
            "hooks away, or take an aggregator of sums, such as AndMask(agreement_threshold=0.8)"
        )


def _at_once(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any, copies: dict[str, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses with their graph, risks and penalties ``[E]``, by ``torch.func.vmap``."""
    each = over_environments(one_environment(model, loss_fn, scalar_objective), model, bool(copies))
    losses, (risks, penalties, state, _) = each(
        copies or trainable_parameters(model), state_of(model, len(inputs)), inputs, targets
    )
    if model.training:
        keep_mean_of_buffers(model, [state])
    return widened(losses), widened(risks), widened(penalties)


def _one_by_one(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any
) -> tuple[list[Tensor], Tensor, Tensor]:
    """The same for every model; each loss can be differentiated without the others."""
    like = next(iter(trainable_parameters(model).values()))
    if not len(inputs):
        nothing = widened(like.new_zeros(0).detach())
        return [], nothing, nothing
    objectives = []
    with MeanOfBuffers(model) as buffers:
        for x, y in zip(inputs, targets, strict=True):
            buffers.restart()
            objectives.append(checked_objective(value_of(loss_fn, outputs_of(model, x), y)))
            buffers.collect()
    risks = torch.stack([objective.risk.detach() for objective in objectives])
    penalties = torch.stack([objective.penalty.detach() for objective in objectives])
    return [objective.loss for objective in objectives], widened(risks), widened(penalties)
