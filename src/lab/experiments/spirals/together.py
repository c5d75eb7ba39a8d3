"""Plain training of several perceptrons at once.

A small batch does not keep a processor busy, but the batches of several seeds together do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F

from ilc.optim import Regularizer
from lab.environment_task import EnvironmentTask
from lab.runs.one_run.task import Metrics


def train_together(
    tasks: Sequence[EnvironmentTask], epochs: int, evaluate_every: int, lr: float, weight_decay: float
) -> Iterator[tuple[int, list[Metrics]]]:
    """Train each task as its own run would with ``aggregator=mean``, Adam and coupled weight decay.

    The parameters of the tasks are stacked to ``[T, ...]``. So products of matrices become batched products.
    Adam and the weight decay work element by element, so stacking does not change what they do. Each task
    evaluates itself.

    Args:
        tasks: T tasks before their first step. They differ only in their numbers. Each has linear layers with
            leaky rectifiers between them, batches ``[1, B, D]`` and the cross-entropy. With ``KaimingMLP``
            the first logit is 0, as in a run.
        epochs: the number of epochs.
        evaluate_every: the number of epochs between two evaluations.
        lr: the learning rate of Adam.
        weight_decay: the factor of L2.

    Yields:
        The epoch, and the metrics of every task.
    """
    first = tasks[0]
    layers = [[layer for layer in task.model.modules() if isinstance(layer, nn.Linear)] for task in tasks]
    weights, biases = (
        [nn.Parameter(torch.stack(same)) for same in zip(*of_task, strict=True)]
        for of_task in (
            # Weights are stored as [in, out], so that their gradients, x^T delta, need no transposition.
            [[layer.weight.detach().T for layer in one] for one in layers],
            [[layer.bias.detach()[None] for layer in one] for one in layers],
        )
    )
    parameters = [*weights, *biases]
    optimizer = optim.Adam(parameters, lr=lr, fused=True)
    regularizer = Regularizer(parameters, weight_decay)
    scheduler = optim.lr_scheduler.MultiStepLR(
        optimizer, first.schedule.drops(epochs), first.schedule.lr_decay
    )
    n_constant = first.data.n_outputs - weights[-1].shape[-1]
    steps = first.schedule.steps_per_epoch or len(first.sampler)
    for epoch in range(1, epochs + 1):
        samplers = [iter(task.sampler) for task in tasks]
        for _ in range(steps):
            batches = [next(sampler) for sampler in samplers]
            inputs, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
            optimizer.zero_grad()
            logits = F.pad(_forward(weights, biases, inputs), (n_constant, 0))
            # This is the sum of the tasks' mean risks.
            risk = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / inputs.shape[1]
            torch.autograd.backward(risk)
            regularizer.before_step()
            optimizer.step()
        scheduler.step()
        if epoch % evaluate_every == 0 or epoch == epochs:
            _hand_back(weights, biases, layers)
            yield epoch, [task.evaluate() for task in tasks]


def _forward(weights: Sequence[Tensor], biases: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Return logits ``[T, B, K]`` of inputs ``[T, B, D]``."""
    hidden = inputs
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        hidden = F.leaky_relu(torch.baddbmm(bias, hidden, weight))
    return torch.baddbmm(biases[-1], hidden, weights[-1])


@torch.no_grad()
def _hand_back(
    weights: Sequence[Tensor], biases: Sequence[Tensor], layers: Sequence[Sequence[nn.Linear]]
) -> None:
    for place, own in enumerate(layers):
        for layer, weight, bias in zip(own, weights, biases, strict=True):
            layer.weight.copy_(weight[place].T)
            layer.bias.copy_(bias[place, 0])
