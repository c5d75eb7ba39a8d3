"""Unrolling: a student's next steps as a differentiable function of its teacher.

The meta-gradient passes through these steps (thesis, section 4.3.4, equation 4.1). This is an example with
your own student, teacher and loss::

    from torch.func import functional_call
    from lab.experiments.distillation import Adam, unroll

    adam, weights = Adam(lr=1e-3), dict(student.named_parameters())

    def inner_loss(weights, batch):  # the label, and the teacher's signal
        inputs, privileged, targets = batch
        hidden, outputs = functional_call(student, weights, inputs)
        return mse_loss(outputs, targets) + mse_loss(hidden, teacher(privileged))

    after, _ = unroll(inner_loss, weights, adam, adam.start(weights), batches)
    _, outputs = functional_call(student, after, validation_inputs)
    mse_loss(outputs, validation_targets).backward()  # the teacher's gradient; the student is unchanged
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
    """Return parameters and optimizer state after one step per batch, differentiable through every step.

    Memory grows linearly with the number of batches.

    Args:
        loss: scalar training loss of parameters on a batch. Everything else that it depends on, such as the
            teacher, can be differentiated afterwards.
        parameters: the student's parameters; they are not changed and get no gradient.
        optimizer: optimizer that takes the steps.
        state: state of the optimizer, carried over or fresh from ``start``; it is not changed.
        batches: one batch per step.
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
    """Return parameters and optimizer state after the same steps as in ``unroll``, without gradients.

    The arguments are those of ``unroll``. Nothing can be differentiated through the result.
    """
    weights, carried = dict(parameters), dict(state)
    for batch in batches:
        weights = {name: value.detach().requires_grad_() for name, value in weights.items()}
        gradients = torch.autograd.grad(loss(weights, batch), list(weights.values()))
        with torch.no_grad():
            weights, carried = optimizer.step(weights, gradients, carried)
    return weights, carried
