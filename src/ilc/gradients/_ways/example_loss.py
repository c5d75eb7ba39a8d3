"""One vote per example from the exact gradient of its own risk, as the authors define it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ilc._precision import widened
from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients._environment import (
    EnvironmentGradients,
    trainable_parameters,
)
from ilc.gradients._passes.example_losses import pass_of_examples
from ilc.gradients._passes.graph import check_graph
from ilc.gradients._passes.own_gradients import add_own_gradients
from ilc.gradients._tensor_tree import Values
from ilc.objectives import ObjectiveFunction


def example_loss(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Values,
    targets: Values,
    also: Sequence[str] = (),
    chunk_size: int | None = None,
) -> EnvironmentGradients:
    """Let every example vote with the gradient of its risk ``r_i``, through one shared forward pass.

    The vote of example i is ``dr_i / dw``. Under BatchNorm in training mode this includes what the weights do
    to example i through the other examples and the batch statistics. It works with every model that autograd
    can differentiate, and costs one backward pass per example (paper, section 3.2; authors' code).
    ``example_local`` compares it with cheaper votes.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        also: sums that the aggregator needs besides the usual ones.
        chunk_size: the number of backward passes at once (batched vector-Jacobian products). Memory grows
            with it. The default is one on a CPU, and on a GPU as many as should fit into its free memory.

    Raises:
        UserError: the chunk size is below 1, an environment has more than one example, or the risk is
            detached.
    """
    if chunk_size is not None and chunk_size < 1:
        raise UserError(f"chunk_size must be at least 1, got {chunk_size}")
    parameters = trainable_parameters(model)
    free_before = _free_memory(inputs.device)
    objectives = pass_of_examples(model, loss_fn, inputs, targets)
    losses = objectives.loss
    check_graph(losses, model)
    statistics = {name: GradientStatistics.zeros(p, also) for name, p in parameters.items()}
    if chunk_size is None:
        free = _free_memory(inputs.device)
        size = sum(p.numel() * p.element_size() for p in parameters.values())
        chunk_size = chunk_that_fits(len(losses), free, free_before - free, size)
    add_own_gradients(losses, list(parameters.values()), list(statistics.values()), chunk_size)
    risks, penalties = (widened(values.detach()) for values in (objectives.risk, objectives.penalty))
    return EnvironmentGradients(risks, statistics, penalties)


def chunk_that_fits(n: int, free: int, activations: int, parameters: int) -> int:
    """How many of ``n`` backward passes to make at once, from the numbers of bytes.

    Each pass needs gradients of all parameters, and at most of all activations that the forward pass stored.
    Half of the free memory stays free. If no free memory is known, the answer is one.
    """
    return max(1, min(n, free // (2 * max(1, activations + parameters))))


def _free_memory(device: torch.device) -> int:
    """The bytes that PyTorch can still get on a GPU; 0 elsewhere, where several passes gain nothing."""
    if device.type != "cuda":
        return 0
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + cached
