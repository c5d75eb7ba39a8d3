"""Whether the same environment passed twice gives the same, so that no pass keeps something unseen."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import as_objective, differentiated, trainable_parameters
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._trials.both_orders import Batches
from ilc.gradients._trials.held_states import HeldStates
from ilc.gradients._trials.held_values import nearly_equal
from ilc.gradients._trials.order_or_chance import depends_on_order
from ilc.gradients._trials.random_numbers import random_numbers_untouched, seed_everything
from ilc.gradients._trials.trial_parameters import zeros_replaced
from ilc.gradients._trials.trial_passes import buffers_untouched, copied
from ilc.gradients._trials.written_parameters import WrittenParameters, refusal
from ilc.objectives import ObjectiveFunction

_ELSEWHERE = (
    "the same examples passed twice give another risk or other gradients, although no attribute that can be "
    "searched has changed, so that one environment depends on the environment before it by something that "
    "the forward pass or the loss keeps elsewhere: make it a buffer (register_buffer), because every "
    "environment starts with the same buffers, or change it between the steps"
)


def check_passed_twice(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    before: HeldStates,
) -> bool:
    """Pass the first environment, the last one, and the first one again; both times it has to show the same.

    Buffers, random numbers and all state that was saved are put back before each pass. So whatever still
    differs depends on something else, which no search of known places would find. Only when it differs, more
    passes tell the order of the environments from random numbers that nobody can seed.

    Args:
        model: the model.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        before: all state that was saved.

    Returns:
        Whether anything could be seen; it cannot if the first risk is NaN or infinite.

    Raises:
        UserError: a pass writes a trainable parameter, or depends on the pass before it.
    """
    repeated = _Repeated(model, loss_fn, inputs, targets, before)
    last = len(inputs) - 1
    with zeros_replaced(model):
        written = WrittenParameters(model)
        try:
            first = repeated.shown(0)
            if not bool(first[0].isfinite()):
                return False
            moved = written.changed()
            repeated.shown(last)
            moved_again = written.changed()
            second = repeated.shown(0)
            moved_again += written.changed()
            differs = not all(map(nearly_equal, first, second))
            # A constraint on weights may be written by each pass, if doing so twice changes nothing.
            culprits = moved_again or (moved if differs else [])
            found_elsewhere = differs and not culprits and not repeated.moves_for_good()
            found_elsewhere = found_elsewhere and depends_on_order(repeated.shown, 0, last or _PART)
        except Exception:  # The step itself will report what is wrong.
            return True
        finally:
            put_back = written.put_back()
    if culprits:
        raise UserError(refusal(culprits[0], put_back))
    if found_elsewhere:
        raise UserError(_ELSEWHERE)
    return True


_PART = -1
"""Stands for the first environment without its last example, where there is no other environment."""


class _Repeated:
    """Passes that all begin with the same random numbers, buffers and saved state."""

    def __init__(
        self,
        model: nn.Module,
        loss_fn: ObjectiveFunction,
        inputs: Batches,
        targets: Batches,
        before: HeldStates,
    ) -> None:
        self._model, self._loss_fn, self._inputs, self._targets = model, loss_fn, inputs, targets
        self._before = before
        self._parameters = trainable_parameters(model)
        self._generators = before.generators

    def shown(self, e: int) -> list[Tensor]:
        """The risk and the gradients of an environment."""
        x, y = (copied(values, [max(e, 0)])[0] for values in (self._inputs, self._targets))
        if e == _PART:
            x, y = x[:-1], y[:-1]
        uncached = _autocast_without_copies(x.device.type)
        try:
            with random_numbers_untouched(x, self._generators), buffers_untouched(self._model), uncached:
                seed_everything(0, self._generators)
                objective = as_objective(value_of(self._loss_fn, outputs_of(self._model, x), y))
                found = differentiated(objective.loss, self._model, self._parameters)
                return [value.detach().clone() for value in (objective.risk, *found)]
        finally:
            self._before.restore_changed()

    def moves_for_good(self) -> bool:
        """Whether passes have moved a saved value that cannot be put back. Its name is found elsewhere."""
        return any(state.changes_for_good() for state in self._before.states)


def _autocast_without_copies(device: str) -> AbstractContextManager[Any]:
    """Autocast as it is, if it is on: the narrow copies that it keeps would outlive this trial's weights."""
    if not torch.is_autocast_enabled(device):
        return nullcontext()
    return torch.autocast(device, torch.get_autocast_dtype(device), cache_enabled=False)
