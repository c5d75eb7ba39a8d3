"""The environments of one update, collected in one place of a training loop and used in another."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients import (
    Accumulation,
    BackwardResult,
    EnvironmentGradients,
    accumulate,
    combined,
    environment_gradients,
)
from ilc.gradients._batches import Batch
from ilc.gradients._refusals import check_aggregator
from ilc.gradients._same_parameters import check_same_parameters, marks_of
from ilc.gradients._unused_gradients import note_filled, warn_of_unused
from ilc.gradients._ways.of_losses import Loss


class Update:
    """Collect environments over one call or several, and fill ``.grad`` when the loop is ready for it.

    Training loops decide outside of the user's function when an update is whole, and some of them set
    gradients to zero between the user's function and the backward pass.

    Attributes:
        aggregator: how the environments' gradients become one update.
        result: what ``ilc.backward`` returns, for the last update; None before the first.
    """

    def __init__(self, aggregator: Aggregator) -> None:
        check_aggregator(aggregator)
        self.aggregator = aggregator
        self.result: BackwardResult | None = None
        self._stack = ExitStack()
        self._votes: Accumulation | None = None
        self._alone: tuple[nn.Module, EnvironmentGradients, list[tuple[Any, ...]]] | None = None

    def change_to(self, aggregator: Aggregator) -> None:
        """Take another aggregator for the updates from now on.

        Raises:
            UserError: ``aggregator`` is no aggregator, or environments were given for this update already.
        """
        if aggregator is self.aggregator:
            return
        check_aggregator(aggregator)
        if self._votes is not None or self._alone is not None:
            raise UserError(
                "the aggregator has changed since the first batch of this update: change it between two "
                "updates, as in on_train_epoch_start"
            )
        self.aggregator = aggregator

    def collect(
        self,
        model: nn.Module,
        loss_fn: Loss,
        inputs: Batch = None,
        targets: Batch = None,
        gradients: str = "vectorized",
        *,
        last: bool,
    ) -> Tensor:
        """Add environments and leave ``.grad`` as it is. ``last`` says that the update is whole with them.

        Returns:
            Their risks, detached.

        Raises:
            UserError: as for ``ilc.backward``, or as for ``ilc.accumulate`` with several calls.
        """
        if last and self._votes is None:
            found = environment_gradients(model, loss_fn, inputs, targets, self.aggregator, gradients)
            self._alone = model, found, marks_of(model)
            return found.risks
        if self._votes is None:
            self._votes = self._stack.enter_context(accumulate(self.aggregator))
        return self._votes.backward(model, loss_fn, inputs, targets, gradients)

    def fill(self) -> None:
        """Put the update into ``.grad``, and begin anew.

        Raises:
            UserError: nothing was collected, or the parameters have changed since then.
        """
        if self._alone is not None:
            (model, found, marks), self._alone = self._alone, None
            check_same_parameters(model, marks)
            warn_of_unused(model, None)
            self.result = combined(model, found, self.aggregator)
            note_filled(model, None)
            return
        if self._votes is None:
            raise UserError("no environment was given for this update: give a batch of environments first")
        votes, self._votes = self._votes, None
        self._stack.close()
        self.result = votes.result
