"""Fishr: environments whose gradients vary alike over their examples."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators._compare_variances import CompareVariances, variance
from ilc.errors import UserError
from ilc.objectives import ObjectiveFunction, RiskFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import Method


class _LastInputs:
    """A hook that keeps what its layer got last, and nothing else that would outlive an environment."""

    inputs: Tensor

    def __call__(self, layer: nn.Module, inputs: tuple[Tensor]) -> None:
        self.inputs = inputs[0]


class Fishr(Method):
    """Minimise ``mean R_e + penalty_weight * mean_e |v_e - mean v|^2 / P`` (Rame et al., arXiv 2109.02934).

    ``v_e`` is the variance over the examples of the gradient of the last linear layer, ``delta_i h_i^T``:
    sums of squares are one product, ``(delta^2)^T h^2``, with its graph. Values and moving average are
    DomainBed's.
    Deviation: no annealing (DomainBed: 1,500 steps without the penalty).

    Args:
        penalty_weight: lambda.
        memory: of the moving average of the variances, in [0, 1).

    Raises:
        UserError: a value out of range.
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
        """As always, one environment after another through the model.

        Raises:
            UserError: other gradients were asked for.
        """
        if options.gradients != "sequential":
            raise UserError(f"aggregator={self.name} needs gradients=sequential, got {options.gradients}")
        return super().sampler(data, options)

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Watch what the last linear layer gets; raise UserError where there is none."""
        linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
        if not linear:
            raise UserError(f"aggregator={self.name} needs a model that ends in a linear layer")
        linear[-1].register_forward_pre_hook(self._last)

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """The risk; on the way the variance of the examples' gradients is noted."""

        def noting(outputs: Tensor, targets: Tensor) -> Tensor:
            value, n = risk(outputs, targets), len(outputs)
            if not outputs.requires_grad:  # Somebody only looks.
                return value
            (slopes,) = torch.autograd.grad(value * n, outputs, create_graph=True)
            self._compare.variances.append(variance(slopes, self._last.inputs))
            return value

        return noting
