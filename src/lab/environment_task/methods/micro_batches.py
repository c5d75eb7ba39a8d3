"""The base class of methods that split every batch and combine the whole gradients of its parts."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.aggregators import Mean
from ilc.distributed import Processes, current
from ilc.errors import UserError
from ilc.gradients import BackwardResult, environment_gradients
from ilc.gradients._environment import trainable_parameters
from ilc.objectives import ObjectiveFunction
from lab.data import Batches, Environments, ExampleBatches
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import TrainingMethod


class MicroBatchMethod(TrainingMethod):
    """Every batch is split into K micro-batches. A subclass combines their gradients ``[K, P]`` into one.

    Running sums over environments are not enough for these methods. They keep all K gradients in memory, so
    they are not aggregators, and K must be small. The batches are random examples, whatever environments
    the data has. The micro-batches go through the model one after another. BatchNorm normalises each one by
    itself, and updates its running statistics K times per step.

    Args:
        n_micro_batches: K, at least 2. If K does not divide the batch, the first micro-batches are one
            larger.

    Raises:
        UserError: K is not a whole number, or is below 2.
    """

    def __init__(self, n_micro_batches: int) -> None:
        super().__init__(Mean())
        if not isinstance(n_micro_batches, int) or n_micro_batches < 2:
            raise UserError(
                f"aggregator.n_micro_batches must be a whole number of at least 2, got {n_micro_batches!r}"
            )
        self.n_micro_batches = n_micro_batches

    def combine(self, gradients: Tensor) -> tuple[Tensor | None, float]:
        """The update ``[P]`` from gradients ``[K, P]``, or None for no step; and the share that is used."""
        raise NotImplementedError

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """A sampler of ``dataset.batch_size`` random examples.

        Raises:
            UserError: the config asks for other batches or gradients, the batches are too small, or several
                processes train.
        """
        if options.batches is not None or options.gradients != "sequential":
            raise UserError(
                f"aggregator={self.name} splits batches of random examples and takes the parts one after "
                "another, so it needs gradients=sequential and no dataset.batches, got "
                f"gradients={options.gradients} and dataset.batches={options.batches}"
            )
        if current().size > 1:
            raise UserError(
                f"aggregator={self.name} compares whole gradients, so one process must have them all: start "
                "it without torchrun"
            )
        batches = ExampleBatches(data, options.batch_size, options.generator, options.device)
        size = options.batch_size
        if size is not None and size < self.n_micro_batches:
            raise UserError(
                f"dataset.batch_size={size} cannot be split into {self.n_micro_batches} parts: choose at "
                f"least {self.n_micro_batches}"
            )
        return batches

    def backward(
        self,
        processes: Processes,
        model: nn.Module,
        objective: ObjectiveFunction,
        inputs: Tensor,
        targets: Tensor,
        gradients: str,
    ) -> BackwardResult:
        """``.grad`` from the micro-batches of ``[E, N, ...]``; None everywhere for no step."""
        parameters = trainable_parameters(model)
        parts = zip(
            inputs.flatten(0, 1).tensor_split(self.n_micro_batches),
            targets.flatten(0, 1).tensor_split(self.n_micro_batches),
            strict=True,
        )
        found = [
            environment_gradients(model, objective, x[None], y[None], self.aggregator, gradients)
            for x, y in parts
        ]
        stacked = torch.stack(
            [torch.cat([each.statistics[name].total.flatten() for name in parameters]) for each in found]
        )
        update, share = self.combine(stacked)
        sizes = [p.numel() for p in parameters.values()]
        pieces = [None] * len(sizes) if update is None else torch.split(update, sizes)
        for p, piece in zip(parameters.values(), pieces, strict=True):
            # None and not zero: with a zero gradient, an optimizer with momentum would still move.
            p.grad = None if piece is None else piece.view_as(p)
        kept = stacked.new_tensor(share)
        risks = torch.cat([each.risks for each in found])
        penalties = torch.cat(
            [torch.zeros_like(each.risks) if each.penalties is None else each.penalties for each in found]
        )
        return BackwardResult(risks, penalties, dict.fromkeys(parameters, kept), kept)
