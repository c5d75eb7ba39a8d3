"""Plain training of several networks at once: small batches leave a processor idle, other seeds fill it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn, optim
from torch.func import functional_call, stack_module_state, vmap

from ilc.environment_task import EnvironmentTask
from ilc.optim import Regularizer
from ilc.runs.task import Metrics


def train_together(
    tasks: Sequence[EnvironmentTask], epochs: int, evaluate_every: int, lr: float, weight_decay: float
) -> Iterator[tuple[int, list[Metrics]]]:
    """Train each as its run would with ``aggregator=mean``, Adam and coupled weight decay.

    Parameters are stacked, ``[T, ...]``: products of matrices become batched ones, and what Adam and the
    weight decay do to an element is what they did before. Evaluations are the tasks' own.

    Args:
        tasks: T of them before their first step, alike but for their numbers; batches ``[1, B, ...]``.
        epochs: how many.
        evaluate_every: epochs between two evaluations.
        lr: Adam's.
        weight_decay: the factor of L2.

    Yields:
        The epoch, and the metrics of every task.
    """
    models, (first, *_) = [task.model.train() for task in tasks], tasks
    # Weights lie as [in, out]: so their gradients, x^T delta, need not be turned round.
    stacked, _ = stack_module_state(models)
    parameters = [nn.Parameter(_turned(value).detach().contiguous()) for value in stacked.values()]
    optimizer = optim.Adam(parameters, lr=lr, fused=True)
    regularizer = Regularizer(parameters, weight_decay)
    scheduler = optim.lr_scheduler.MultiStepLR(
        optimizer, [int(part * epochs) for part in first.schedule.milestones], first.schedule.lr_decay
    )
    outputs_of = vmap(lambda named, inputs: functional_call(models[0], named, (inputs,)))
    risk_of = vmap(first.risk)
    steps = first.schedule.steps_per_epoch or len(first.sampler)
    for epoch in range(1, epochs + 1):
        samplers = [iter(task.sampler) for task in tasks]
        for _ in range(steps):
            batches = [next(sampler) for sampler in samplers]
            inputs, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
            optimizer.zero_grad()
            named = dict(zip(stacked, map(_turned, parameters), strict=True))
            torch.autograd.backward(risk_of(outputs_of(named, inputs), targets).sum())
            regularizer.before_step()
            optimizer.step()
        scheduler.step()
        if epoch % evaluate_every == 0 or epoch == epochs:
            for name, parameter in zip(stacked, parameters, strict=True):
                for model, value in zip(models, _turned(parameter.detach()), strict=True):
                    model.get_parameter(name).data.copy_(value)
            yield epoch, [task.evaluate() for task in tasks]


def _turned(values: Tensor) -> Tensor:
    return values.mT if values.dim() == 3 else values
