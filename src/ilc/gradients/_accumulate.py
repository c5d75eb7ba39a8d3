"""Environments that arrive over several calls, for one update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ilc._processes import current
from ilc.aggregators import Aggregator, GradientStatistics, JointAggregator
from ilc.errors import UserError
from ilc.gradients._backward import BackwardResult, combined, uses_votes
from ilc.gradients._batches import Batch
from ilc.gradients._environment import EnvironmentGradients
from ilc.gradients._environment_gradients import PER_EXAMPLE, gradients_of_step
from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._groups import added
from ilc.gradients._passes.buffers_over_calls import BuffersOverCalls
from ilc.gradients._refusals import check_aggregator, check_is_module
from ilc.gradients._same_parameters import check_same_parameters, marks_of
from ilc.gradients._sharded import is_sharded, reshard
from ilc.gradients._unused_gradients import note_filled, warn_of_unused
from ilc.gradients._ways.of_losses import Loss


class Accumulation:
    """The environments of one update so far, which ``accumulate`` yields.

    Attributes:
        result: what ``backward`` returns, with the risks of all environments in the order of the calls; None
            until the block has ended.
    """

    def __init__(self, aggregator: Aggregator) -> None:
        self.result: BackwardResult | None = None
        self._aggregator = aggregator
        self._model: nn.Module | None = None
        self._statistics: dict[str, GradientStatistics] = {}
        self._reports: list[tuple[Tensor, Tensor]] = []

    def backward(
        self,
        model: nn.Module,
        loss_fn: Loss,
        inputs: Batch = None,
        targets: Batch = None,
        gradients: str = "vectorized",
    ) -> Tensor:
        """Add the environments of one more micro-batch. ``.grad`` stays as it is.

        Args:
            model: the same in every call of the block, with the same parameters.
            loss_fn: as for ``ilc.backward``.
            inputs: as for ``ilc.backward``; the number of environments may differ from call to call.
            targets: as for ``ilc.backward``.
            gradients: as for ``ilc.backward``, without ``pooled``.

        Returns:
            The risks of these environments, detached.

        Raises:
            UserError: as for ``ilc.backward``; the model, its parameters or its mode (``train`` or ``eval``)
                have changed since the first call; or the way depends on the whole batch.
        """
        self._check(model, gradients)
        self._buffers.begin()
        found = self._found(model, loss_fn, inputs, targets, gradients)
        # A pass may write parameters itself: an embedding with ``max_norm`` shortens its rows.
        reshard(model)
        self._parameters = marks_of(model)
        self._buffers.collect(len(found.risks))
        penalties = torch.zeros_like(found.risks) if found.penalties is None else found.penalties
        self._reports.append((found.risks, penalties))
        groups = [self._statistics, found.statistics] if self._statistics else [found.statistics]
        self._statistics = added(groups)
        return found.risks

    def _found(
        self, model: nn.Module, loss_fn: Loss, inputs: Batch, targets: Batch, gradients: str
    ) -> EnvironmentGradients:
        if is_sharded(model):
            # A late import, because that of DTensor takes half a second.
            from ilc.distributed._shards.passes import sharded_gradients

            return sharded_gradients(model, loss_fn, inputs, targets, self._aggregator, gradients, current())
        votes = uses_votes(model, self._aggregator, gradients)
        return gradients_of_step(model, loss_fn, inputs, targets, self._aggregator, gradients, votes=votes)

    def _check(self, model: nn.Module, gradients: str) -> None:
        check_is_module(model)
        if gradients == "pooled":
            raise UserError(
                "gradients='pooled' does not tell environments apart, so there is nothing to collect: call "
                "loss.backward() for each micro-batch, which adds up by itself"
            )
        if gradients in PER_EXAMPLE and any(map(normalises_by_batch, model.modules())):
            raise UserError(
                f"gradients={gradients!r} normalises over the whole batch under BatchNorm, of which each "
                "call has a part: call eval() on the BatchNorm layers, take GroupNorm, or make one call"
            )
        if self.result is not None:
            raise UserError(
                "the block of ilc.accumulate has ended and .grad is filled, so that further environments "
                "would have no vote: give all of them inside the block, and begin a new one for each update"
            )
        reshard(model)
        parameters = marks_of(model)
        modes = [module.training for module in model.modules()]
        if self._model is None:
            self._model, self._parameters, self._modes = model, parameters, modes
            self._buffers: BuffersOverCalls = BuffersOverCalls(model)
        if self._model is not model or self._parameters != parameters:
            if self._model is not model:
                raise UserError(
                    "this is another model than in the first micro-batch of this update: open a block of "
                    "ilc.accumulate for each model"
                )
            raise UserError(
                "the parameters have changed since the first micro-batch of this update: change them, as by "
                "the optimizer's step, after the block of ilc.accumulate. If the update was interrupted, as "
                "by loading a checkpoint, begin a new one with a new block or a new EnvironmentVotes"
            )
        if self._modes != modes:
            raise UserError(
                "train() or eval() was called since the first micro-batch of this update, so its "
                "environments would see different models: leave the modes of all modules as they are inside "
                "the block of ilc.accumulate"
            )

    def _finish(self) -> None:
        """Fill ``.grad`` from all environments."""
        if self._model is None or not self._reports:
            raise UserError(
                "no environment was given to ilc.accumulate: call backward(model, loss_fn, batch) of what it "
                "yields for each micro-batch"
            )
        reshard(self._model)
        check_same_parameters(self._model, self._parameters)
        warn_of_unused(self._model, None)
        self._buffers.finish()
        risks, penalties = (torch.cat(parts) for parts in zip(*self._reports, strict=True))
        every = EnvironmentGradients(risks, self._statistics, penalties)
        self.result = self._combined(self._model, every)
        note_filled(self._model, None)

    def _combined(self, model: nn.Module, every: EnvironmentGradients) -> BackwardResult:
        if is_sharded(model):
            from ilc.distributed._shards.update import combined_shards

            return combined_shards(model, every, self._aggregator, current())
        return combined(model, every, self._aggregator)


@contextmanager
def accumulate(aggregator: Aggregator) -> Iterator[Accumulation]:
    """Collect the environments of several calls, and fill ``.grad`` once at the end of the block.

    The update is that of one ``ilc.backward`` with all environments: the votes are the same, and the sums
    differ only by the rounding that their order causes. Only sums over environments are kept, which is
    memory O(P) for any number of calls. BatchNorm in training mode normalises every environment by its own
    batch. Running statistics and other buffers end as the mean over all environments. If the block ends with
    an error, ``.grad`` and the buffers stay as they were.

    If ``fully_shard`` (FSDP2) has divided the model, every process makes the same number of calls, each with
    its own environments, and the update is that of the environments of all processes.

    Args:
        aggregator: one that needs sums over environments only.

    Raises:
        UserError: the aggregator needs all environments at once, the block had no environment, or the
            parameters have changed inside it. A change in place through ``p.data`` is not seen.
    """
    check_aggregator(aggregator)
    if isinstance(aggregator, JointAggregator):
        raise UserError(
            f"{type(aggregator).__name__} needs the graphs or gradients of all environments at once, and "
            "ilc.accumulate keeps only sums: give all environments to one ilc.backward, or take an "
            "aggregator of sums, such as AndMask(agreement_threshold=0.8)"
        )
    votes = Accumulation(aggregator)
    yield votes
    votes._finish()
