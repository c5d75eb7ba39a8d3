"""Fishr: a penalty on the difference between the gradient variances of the environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators._compare_variances import CompareVariances, variance
from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction, RiskFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.methods.last_layer import LastInputs, last_layer
from lab.environment_task.methods.late_penalty import LatePenalty


class Fishr(LatePenalty):
    """Minimise ``mean R_e + penalty_weight * mean_e |v_e - mean v|^2 / P`` (Rame et al., arXiv 2109.02934).

    ``v_e`` is the variance over the examples of the gradient of the last linear layer, ``delta_i h_i^T``.
    The sum of the squared gradients is one product, ``(delta^2)^T h^2``, which can be differentiated again.
    The values and the moving average are those of DomainBed. Deviation: without ``schedule_steps`` the
    penalty acts from the first step (DomainBed: 1,500 steps without the penalty).

    Args:
        penalty_weight: lambda.
        memory: the weight of the past in the moving average of the variances, in [0, 1).
        schedule_steps: the number of steps without the penalty.

    Raises:
        UserError: a value is out of range.
    """

    adds_penalty = True

    def __init__(self, penalty_weight: float = 1000.0, memory: float = 0.95, schedule_steps: int = 0) -> None:
        if not (penalty_weight >= 0 and 0 <= memory < 1):
            raise UserError(
                "aggregator.penalty_weight must be at least 0 and aggregator.memory in [0, 1), got "
                f"{penalty_weight} and {memory}"
            )
        self._compare = CompareVariances(penalty_weight, memory)
        super().__init__(self._compare, penalty_weight, schedule_steps, 0.0)
        self._last = LastInputs()

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """The usual sampler. The environments must go through the model one after another.

        Raises:
            UserError: ``gradients`` is not ``sequential``.
        """
        if options.gradients != "sequential":
            raise UserError(f"aggregator={self.name} needs gradients=sequential, got {options.gradients}")
        return super().sampler(data, options)

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Record the inputs of the last linear layer; raise UserError if the model has no linear layer."""
        _, self._last = last_layer(model, self.name)

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """The risk. Computing it also records the variance of the gradients of the examples."""

        def noting(outputs: Tensor, targets: Tensor) -> Tensor:
            value, n = risk(outputs, targets), len(outputs)
            if not outputs.requires_grad:  # No gradient is wanted, as in an evaluation.
                return value
            (slopes,) = torch.autograd.grad(value * n, outputs, create_graph=True)
            self._compare.variances.append(variance(slopes, self._last.inputs))
            return value

        return noting
