"""Fishr: a penalty on the difference between the gradient variances of the environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators._compare_variances import CompareVariances, variance
from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction, RiskFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import TrainingMethod


class _LastInputs:
    """A hook that keeps the last inputs of its layer. It keeps nothing else, so that memory is freed."""

    inputs: Tensor

    def __call__(self, layer: nn.Module, inputs: tuple[Tensor]) -> None:
        self.inputs = inputs[0]


class Fishr(TrainingMethod):
    """Minimise ``mean R_e + penalty_weight * mean_e |v_e - mean v|^2 / P`` (Rame et al., arXiv 2109.02934).

    ``v_e`` is the variance over the examples of the gradient of the last linear layer, ``delta_i h_i^T``.
    The sum of the squared gradients is one product, ``(delta^2)^T h^2``, which can be differentiated again.
    The values and the moving average are those of DomainBed. Deviation: no annealing (DomainBed: 1,500
    steps without the penalty).

    Args:
        penalty_weight: lambda.
        memory: the weight of the past in the moving average of the variances, in [0, 1).

    Raises:
        UserError: a value is out of range.
    """

    adds_penalty = True

    def __init__(self, penalty_weight: float = 1000.0, memory: float = 0.95) -> None:
        if not (penalty_weight >= 0 and 0 <= memory < 1):
            raise UserError(
                "Fishr needs a penalty_weight of at least 0 and a memory in [0, 1), got "
                f"{penalty_weight} and {memory}"
            )
        self._compare = CompareVariances(penalty_weight, memory)
        super().__init__(self._compare)
        self._last = _LastInputs()

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
        linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
        if not linear:
            raise UserError(f"aggregator={self.name} needs a model that ends in a linear layer")
        linear[-1].register_forward_pre_hook(self._last)

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
