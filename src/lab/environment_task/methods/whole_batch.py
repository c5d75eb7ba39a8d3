"""The base class of methods with one loss of the whole batch, in which all environments meet."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ilc.aggregators import MeanOfEnvironments
from ilc.distributed import Processes, current
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, BackwardResult
from ilc.gradients._environment import trainable_parameters
from ilc.objectives import ObjectiveFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import TrainingMethod


class WholeBatchMethod(TrainingMethod):
    """One loss of a batch ``[E, N, ...]``. A subclass says which.

    The method works in one process, with batches of every environment. All examples go through the model
    together, so BatchNorm would mix the environments.
    """

    def __init__(self) -> None:
        super().__init__(MeanOfEnvironments())

    def loss(
        self, model: nn.Module, objective: ObjectiveFunction, inputs: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss, the risks ``[E]`` and the penalties ``[E]`` to report."""
        raise NotImplementedError

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """A sampler with batches of every environment.

        Raises:
            UserError: the config asks for other batches, every example votes, or several processes train.
        """
        if options.batches not in (None, "every_environment") or options.gradients in PER_EXAMPLE:
            raise UserError(
                f"aggregator={self.name} compares the environments of one batch: take "
                f"dataset.batches=every_environment and gradients=vectorized, got {options.batches} and "
                f"{options.gradients}"
            )
        if current().size > 1:
            raise UserError(
                f"aggregator={self.name} compares the environments of one process only: start "
                "it without torchrun"
            )
        return super().sampler(data, options)

    def backward(
        self,
        processes: Processes,
        model: nn.Module,
        objective: ObjectiveFunction,
        inputs: Tensor,
        targets: Tensor,
        gradients: str,
    ) -> BackwardResult:
        """``.grad`` from the loss of the batch."""
        parameters = trainable_parameters(model)
        loss, risks, penalties = self.loss(model, objective, inputs, targets)
        found = torch.autograd.grad(
            loss, list(parameters.values()), allow_unused=True, materialize_grads=True
        )
        return filled(parameters, found, risks, penalties)


def filled(
    parameters: dict[str, nn.Parameter], gradients: Iterable[Tensor], risks: Tensor, penalties: Tensor
) -> BackwardResult:
    """Put gradients into ``.grad``, and return the result of a step that keeps every component."""
    for p, gradient in zip(parameters.values(), gradients, strict=True):
        p.grad = gradient
    one = risks.new_ones(())
    return BackwardResult(risks.detach(), penalties.detach(), dict.fromkeys(parameters, one), one)


def risks_of(objective: ObjectiveFunction, outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the risk of each environment, ``[E]``, from outputs ``[E * N, ...]`` and targets ``[E, N]``."""
    of_each = outputs.view(*targets.shape[:2], *outputs.shape[1:])
    risks = [objective(each, wanted) for each, wanted in zip(of_each, targets, strict=True)]
    return torch.stack([risk for risk in risks if isinstance(risk, Tensor)])


def pairs(n_environments: int) -> tuple[Tensor, Tensor]:
    """Return random pairs of environments, ``[E]`` and ``[E]``: a random circle, each with the next one."""
    order = torch.randperm(n_environments)
    return order, order.roll(-1)
