"""One environment after another: memory O(P), independent of the number of environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators import GradientStatistics
from ilc.gradients.environment import EnvironmentGradients, checked_objective, trainable_parameters
from ilc.objectives import ObjectiveFunction


def sequential(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor, with_logs: bool = False
) -> EnvironmentGradients:
    """Differentiate each environment's risk in turn and add it to the running statistics.

    BatchNorm in training mode normalises every environment by its own batch statistics; every
    environment starts from the same running statistics, which end as the mean over environments
    (see ``ilc.gradients``). Dropout draws a fresh mask per environment and example.
    """
    parameters = trainable_parameters(model)
    statistics = {name: GradientStatistics.zeros(p, with_logs) for name, p in parameters.items()}
    # Allocated up front: many small tensors, made between large ones, would scatter the memory.
    parameter = next(iter(parameters.values()))
    risks = torch.empty(len(inputs), dtype=parameter.dtype, device=parameter.device)
    penalties = torch.empty_like(risks)
    with _MeanOfBuffers(model) as buffers:
        for e in range(len(inputs)):
            buffers.restart()
            objective = checked_objective(loss_fn(model(inputs[e]), targets[e]))
            # A parameter that the risk does not reach gets zeros: no vote.
            gradients = torch.autograd.grad(
                objective.loss, list(parameters.values()), allow_unused=True, materialize_grads=True
            )
            for running, gradient in zip(statistics.values(), gradients, strict=True):
                running.add_(gradient.unsqueeze(0))
            risks[e], penalties[e] = objective.risk.detach(), objective.penalty.detach()
            buffers.collect()
    return EnvironmentGradients(risks, statistics, penalties)


class _MeanOfBuffers:
    """Lets each environment update the model's buffers from the same start; leaves their mean."""

    def __init__(self, model: nn.Module) -> None:
        self._buffers = list(model.buffers()) if model.training else []
        self._start = [buffer.clone() for buffer in self._buffers]
        self._sums = [torch.zeros_like(buffer) for buffer in self._buffers]
        self._n = 0

    def __enter__(self) -> _MeanOfBuffers:
        return self

    def restart(self) -> None:
        for buffer, start in zip(self._buffers, self._start, strict=True):
            buffer.copy_(start)

    def collect(self) -> None:
        self._n += 1
        for total, buffer in zip(self._sums, self._buffers, strict=True):
            total.add_(buffer)

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.restart()
            return
        for buffer, total in zip(self._buffers, self._sums, strict=True):
            if buffer.is_floating_point():
                buffer.copy_(total / self._n)
            # Counters advance alike in every environment: the last value is already in place.
