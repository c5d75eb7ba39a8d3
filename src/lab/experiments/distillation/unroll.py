"""A student's next steps as a function of its teacher: what the meta-gradient passes through.

Thesis, section 4.3.4, equation 4.1. With a student, a teacher and a loss of one's own::

    from torch.func import functional_call
    from lab.experiments.distillation import Adam, unroll

    adam, weights = Adam(lr=1e-3), dict(student.named_parameters())

    def inner_loss(weights, batch):  # the label, and what the teacher asks for
        inputs, privileged, targets = batch
        hidden, outputs = functional_call(student, weights, inputs)
        return mse_loss(outputs, targets) + mse_loss(hidden, teacher(privileged))

    after, _ = unroll(inner_loss, weights, adam, adam.start(weights), batches)
    _, outputs = functional_call(student, after, validation_inputs)
    mse_loss(outputs, validation_targets).backward()  # the gradient of the teacher; the student is as before
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from lab.experiments.distillation.functional_optimizers import FunctionalOptimizer, Tensors

Batch = TypeVar("Batch")


def unroll(
    loss: Callable[[Tensors, Batch], Tensor],
    parameters: Mapping[str, Tensor],
    optimizer: FunctionalOptimizer,
    state: Mapping[str, Tensor],
    batches: Iterable[Batch],
) -> tuple[Tensors, Tensors]:
    """Parameters and optimizer state after one step per batch, differentiable through every step.

    Memory grows linearly with the number of batches.

    Args:
        loss: scalar training loss of parameters on a batch; whatever else it depends on (the teacher)
            can be differentiated afterwards.
        parameters: where the student is; they stay as they are, and get no gradient.
        optimizer: what takes the steps.
        state: the optimizer's, carried over or fresh from ``start``; it stays as it is.
        batches: one per step.
    """
    weights = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    carried = {name: value.detach() for name, value in state.items()}
    for batch in batches:
        gradients = torch.autograd.grad(loss(weights, batch), list(weights.values()), create_graph=True)
        weights, carried = optimizer.step(weights, gradients, carried)
    return weights, carried


def train(
    loss: Callable[[Tensors, Batch], Tensor],
    parameters: Mapping[str, Tensor],
    optimizer: FunctionalOptimizer,
    state: Mapping[str, Tensor],
    batches: Iterable[Batch],
) -> tuple[Tensors, Tensors]:
    """The steps of ``unroll``, whose arguments it takes, for good: nothing can be differentiated then."""
    weights, carried = dict(parameters), dict(state)
    for batch in batches:
        weights = {name: value.detach().requires_grad_() for name, value in weights.items()}
        gradients = torch.autograd.grad(loss(weights, batch), list(weights.values()))
        with torch.no_grad():
            weights, carried = optimizer.step(weights, gradients, carried)
    return weights, carried
