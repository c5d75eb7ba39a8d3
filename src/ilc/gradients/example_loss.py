"""One vote per example from the gradient of its own risk: the authors' definition."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.errors import UserError
from ilc.gradients.environment import (
    EnvironmentGradients,
    refuse_reentrant_checkpoints,
    trainable_parameters,
)
from ilc.gradients.example_objectives import example_objectives
from ilc.objectives import ObjectiveFunction


def example_loss(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor,
    targets: Tensor,
    with_logs: bool = False,
    chunk_size: int = 1,
) -> EnvironmentGradients:
    """Let every example vote with the gradient of its risk ``r_i``, through one shared forward pass.

    The vote of example i is ``dr_i / dw``. Under BatchNorm in training mode this includes what the
    weights do to example i through the other examples, by way of the batch statistics. Any model
    that autograd can follow will do. Costs one backward pass per example (paper, section 3.2;
    authors' code). Cheaper votes, and how near they come: ``example_local``.

    Args:
        model: maps ``[E, ...]`` to outputs ``[E, ...]``, one row per example.
        loss_fn: risk of one example, called with batches of one.
        inputs: ``[E, 1, ...]``, every example an environment of its own.
        targets: ``[E, 1, ...]``.
        with_logs: gather the sums of logs too.
        chunk_size: backward passes made at once (batched vector-Jacobian products); memory grows
            with it.

    Raises:
        UserError: a chunk size below 1, more than one example per environment, a detached risk.
    """
    if chunk_size < 1:
        raise UserError(f"chunk_size must be at least 1, got {chunk_size}")
    parameters = trainable_parameters(model)
    objectives = example_objectives(loss_fn, model(inputs.flatten(0, 1)), targets)
    losses = objectives.loss
    refuse_reentrant_checkpoints(losses, model)
    statistics = {name: GradientStatistics.zeros(p, with_logs) for name, p in parameters.items()}
    n = len(losses)
    for start in range(0, n, chunk_size):
        rows = torch.eye(n, dtype=losses.dtype, device=losses.device)[start : start + chunk_size]
        batched = chunk_size > 1
        gradients = torch.autograd.grad(
            losses,
            list(parameters.values()),
            grad_outputs=rows if batched else rows[0],
            is_grads_batched=batched,
            retain_graph=start + chunk_size < n,
            allow_unused=True,
            materialize_grads=True,
        )
        for running, gradient in zip(statistics.values(), gradients, strict=True):
            running.add_(gradient if batched else gradient.unsqueeze(0))
    return EnvironmentGradients(objectives.risk.detach(), statistics, objectives.penalty.detach())
