"""What methods have in common that split every batch and combine the parts' whole gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc._processes import Processes, current
from ilc.aggregators import Mean
from ilc.errors import UserError
from ilc.gradients import BackwardResult, environment_gradients
from ilc.gradients._environment import trainable_parameters
from ilc.objectives import ObjectiveFunction
from lab.data import Batches, Environments, ExampleBatches
from lab.environment_task.batches import BatchOptions
from lab.environment_task.method import Method


class MicroBatchMethod(Method):
    """Every batch falls into K micro-batches; a subclass turns their gradients ``[K, P]`` into one.

    No sums over environments will do for these methods, so they hold all K gradients and are no aggregators:
    K is small. The batches are random examples, whatever environments the data has. The micro-batches
    go through the model one after another, each normalised by itself under BatchNorm, whose running
    statistics move K times per step.

    Args:
        n_micro_batches: K, at least 2; where K does not divide the batch, the first ones are one larger.

    Raises:
        UserError: a K that is no whole number or below 2.
    """

    def __init__(self, n_micro_batches: int) -> None:
        super().__init__(Mean())
        if not isinstance(n_micro_batches, int) or n_micro_batches < 2:
            raise UserError(f"n_micro_batches must be a whole number, at least 2, got {n_micro_batches!r}")
        self.n_micro_batches = n_micro_batches

    def combine(self, gradients: Tensor) -> tuple[Tensor | None, float]:
        """The update ``[P]`` from gradients ``[K, P]``, or None for no step, and the share used."""
        raise NotImplementedError

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """Random examples, ``dataset.batch_size`` of them.

        Raises:
            UserError: other batches or gradients were asked for, batches too small, several processes.
        """
        if options.batches is not None or options.gradients != "sequential":
            raise UserError(
                f"aggregator={self.name} splits batches of random examples and takes the parts one after "
                f"another: gradients=sequential and no dataset.batches, got gradients={options.gradients}"
            )
        if current().size > 1:
            raise UserError(f"aggregator={self.name} compares whole gradients, in one process only")
        batches = ExampleBatches(data, options.batch_size, options.generator, options.device)
        size = options.batch_size
        if size is not None and size < self.n_micro_batches:
            raise UserError(f"dataset.batch_size={size} cannot be split into {self.n_micro_batches} parts")
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
            # None rather than zero: an optimizer with momentum would move all the same.
            p.grad = None if piece is None else piece.view_as(p)
        kept = stacked.new_tensor(share)
        risks = torch.cat([each.risks for each in found])
        penalties = torch.cat(
            [torch.zeros_like(each.risks) if each.penalties is None else each.penalties for each in found]
        )
        return BackwardResult(risks, penalties, dict.fromkeys(parameters, kept), kept)
