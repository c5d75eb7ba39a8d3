"""All environments in one graph, for aggregators that look at them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    dense,
    scalar_objective,
    trainable_parameters,
)
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._passes.mean_of_buffers import MeanOfBuffers
from ilc.gradients._trials.choose_way import chosen
from ilc.gradients._ways.sum_only import summed
from ilc.gradients._ways.vectorized import keep_mean_of_buffers, one_environment, over_environments, state_of
from ilc.objectives import ObjectiveFunction


@dataclass
class AllTogether:
    """``Together`` of this process's environments; see there.

    Attributes:
        losses: ``[E']``, with their graph, or where ``jointly`` follows that by itself without.
        risks: ``[E']``.
        parameters: what is trained.
        graphs: the same losses with their graphs: ``[E']`` from the copies, else a scalar each.
        copies: the parameters once for each environment, ``[E', ...]``, where the losses came from these.
        counts: environments of each process.
        processes: who share the step.
    """

    losses: Tensor
    risks: Tensor
    parameters: Sequence[Tensor]
    graphs: Tensor | Sequence[Tensor]
    copies: Sequence[Tensor]
    counts: Sequence[int]
    processes: Processes

    @property
    def n_environments(self) -> int:
        """E, of all processes."""
        return sum(self.counts)

    def rows(self, create_graph: bool = False) -> Tensor:
        """``[E', P]``: one backward pass, or without copies one for each environment."""
        if self.copies:
            assert isinstance(self.graphs, Tensor), "what copies are for"
            # Each loss depends on its own copy alone.
            gradients = _differentiated(self.graphs.sum(), self.copies, create_graph)
            return torch.cat([widened(gradient).flatten(1) for gradient in gradients], 1)
        found = [
            torch.cat([widened(g).flatten() for g in _differentiated(loss, self.parameters, create_graph)])
            for loss in self.graphs
        ]
        width = sum(p.numel() for p in self.parameters)
        return torch.stack(found) if found else self.risks.new_zeros(0, width)

    @property
    def _own(self) -> slice:
        start = sum(self.counts[: self.processes.rank])
        return slice(start, start + self.counts[self.processes.rank])

    def everywhere(self, own: Tensor) -> Tensor:
        """``[E, ...]``, in the order of the ranks."""
        every = own.new_zeros(self.n_environments, *own.shape[1:], requires_grad=False)
        every[self._own] = own.detach()
        self.processes.sum_(every)
        return every

    def own(self, of_all: Tensor) -> Tensor:
        """``[E', ...]``."""
        return of_all[self._own]


def _differentiated(loss: Tensor, tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    found = torch.autograd.grad(
        loss, tensors, retain_graph=True, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return tuple(dense(gradient) for gradient in found)


def jointly(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
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
        inputs: ``[E', N, ...]``, or a list; empty, where other processes have all of them.
        targets: alike.
        aggregator: what makes one loss of them.
        gradients: ``vectorized`` or ``sequential``.
        counts: environments of each process.
        processes: who share the step.

    Raises:
        UserError: a way that has no graph of all environments, and all of ``sequential``.
    """
    if gradients not in ("vectorized", "sequential"):
        raise UserError(
            f"{type(aggregator).__name__} looks at whole environments together: take "
            f"gradients='vectorized' or 'sequential' instead of {gradients!r}"
        )
    parameters = trainable_parameters(model)
    tensors = isinstance(inputs, Tensor) and isinstance(targets, Tensor) and len(inputs) > 0
    copies: dict[str, Tensor] = {}
    # Autograd would add the environments up in the parameters' type.
    narrow = any(is_narrow(p.dtype) for p in parameters.values())
    graphs: Tensor | list[Tensor]
    if gradients == "vectorized" and tensors and _can_go_at_once(model, loss_fn, inputs, targets):
        if aggregator.needs_rows or narrow:
            copies = {name: p.expand(len(inputs), *p.shape) for name, p in parameters.items()}
        losses, risks, penalties = _at_once(model, loss_fn, inputs, targets, copies)
        graphs = losses
    else:
        graphs, risks, penalties = _one_by_one(model, loss_fn, inputs, targets)
        losses = torch.stack([widened(graph) for graph in graphs]) if graphs else risks
        if narrow and graphs:
            losses = losses.detach().requires_grad_()
    everything = list(parameters.values())
    together = AllTogether(
        losses, risks, everything, graphs, list(copies.values()), counts or [len(inputs)], processes
    )
    if len(graphs):
        check_graph(torch.stack(tuple(graphs)).sum(), model)
    loss, added = aggregator.loss(together)
    found = [torch.zeros_like(p) for p in everything]
    if loss.requires_grad:
        found = list(_differentiated(loss, everything, create_graph=False))
    found = [widened(gradient) for gradient in found]
    if losses.is_leaf and losses.requires_grad:
        (weights,) = _differentiated(loss, [losses], create_graph=False)
        for weight, graph in zip(weights, graphs, strict=True):
            more = _differentiated(graph, everything, create_graph=False)
            found = [total + weight * widened(gradient) for total, gradient in zip(found, more, strict=True)]
    # ``combine`` divides by E, once the processes' parts are added up.
    n = together.n_environments
    statistics = {
        name: GradientStatistics.without_votes(len(inputs), gradient * n)
        for name, gradient in zip(parameters, found, strict=True)
    }
    return EnvironmentGradients(risks, statistics, penalties + added)


def _can_go_at_once(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any) -> bool:
    return chosen(model, loss_fn, inputs, targets, summed) is summed


def _at_once(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any, copies: dict[str, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses with graph, risks and penalties ``[E]``, by ``torch.func.vmap``."""
    each = over_environments(one_environment(model, loss_fn, scalar_objective), model, bool(copies))
    losses, (risks, penalties, state) = each(
        copies or trainable_parameters(model), state_of(model, len(inputs)), inputs, targets
    )
    if model.training:
        keep_mean_of_buffers(model, [state])
    return widened(losses), widened(risks), widened(penalties)


def _one_by_one(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Any, targets: Any
) -> tuple[list[Tensor], Tensor, Tensor]:
    """The same, for any model; each loss by itself, so that it can be differentiated without the others."""
    like = next(iter(trainable_parameters(model).values()))
    if not len(inputs):
        nothing = widened(like.new_zeros(0).detach())
        return [], nothing, nothing
    objectives = []
    with MeanOfBuffers(model) as buffers:
        for x, y in zip(inputs, targets, strict=True):
            buffers.restart()
            objectives.append(checked_objective(loss_fn(model(x), y)))
            buffers.collect()
    risks = torch.stack([objective.risk.detach() for objective in objectives])
    penalties = torch.stack([objective.penalty.detach() for objective in objectives])
    return [objective.loss for objective in objectives], widened(risks), widened(penalties)
