"""MLDG: a step that also helps after a step on another environment."""

from __future__ import annotations

import torch
from torch import Tensor, nn, optim
from torch.func import functional_call

from ilc.aggregators._joint import check_penalty_weight
from ilc.distributed import Processes
from ilc.gradients import BackwardResult
from ilc.gradients._environment import trainable_parameters
from ilc.objectives import ObjectiveFunction
from lab.environment_task.methods.whole_batch import WholeBatchMethod, filled, pairs

EPS = 1e-8
"""Adam's default."""


class MetaLearning(WholeBatchMethod):
    """Follow ``g_e + beta g_f'``, averaged over random pairs of environments (Li et al., arXiv 1710.03463).

    ``g_e`` is the gradient of environment e. ``g_f'`` is that of environment f after one first step of Adam
    on e, with the learning rate of the run and without weight decay.

    Deviation: the source divides the environments into two sets, takes a step of gradient descent on the
    first set, and differentiates through it. Each environment is e once and f once, the first step is
    Adam's, and no second derivatives are taken, as in DomainBed's code of 2021. Since April 2022
    DomainBed (``n_meta_test``) draws two environments that are only f, so that the others are only e.

    Args:
        beta: the weight of the second gradient, at least 0. 0 is the mean.

    Raises:
        UserError: the weight is negative or not finite.
    """

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = check_penalty_weight(beta)
        self._lr = 0.0

    def before_step(self, step: int, optimizer: optim.Optimizer) -> None:
        """Note the learning rate."""
        self._lr = float(optimizer.param_groups[0]["lr"])

    def backward(
        self,
        processes: Processes,
        model: nn.Module,
        objective: ObjectiveFunction,
        inputs: Tensor,
        targets: Tensor,
        gradients: str,
    ) -> BackwardResult:
        """``.grad`` from two gradients for each pair."""
        parameters = trainable_parameters(model)
        update = [torch.zeros_like(p) for p in parameters.values()]
        risks = inputs.new_zeros(len(inputs))

        def gradient(at: dict[str, Tensor], environment: int) -> tuple[Tensor, tuple[Tensor, ...]]:
            risk = objective(functional_call(model, at, (inputs[environment],)), targets[environment])
            assert isinstance(risk, Tensor), "this method adds nothing to the risk"
            found = torch.autograd.grad(risk, list(at.values()), allow_unused=True, materialize_grads=True)
            return risk.detach(), found

        for e, f in zip(*(each.tolist() for each in pairs(len(inputs))), strict=True):
            risks[e], own = gradient(dict(parameters), e)
            # With empty averages, Adam's step is the gradient over its size.
            moved = {
                name: (p - self._lr * g / (g.abs() + EPS)).detach().requires_grad_()
                for (name, p), g in zip(parameters.items(), own, strict=True)
            }
            _, other = gradient(moved, f)
            for total, one, two in zip(update, own, other, strict=True):
                total.add_(one + self.beta * two, alpha=1 / len(inputs))
        return filled(parameters, update, risks, torch.zeros_like(risks))
