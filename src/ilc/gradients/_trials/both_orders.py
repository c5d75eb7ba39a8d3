"""Whether an environment's pass shows that another environment came before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ilc.gradients._environment import as_objective, differentiated, trainable_parameters
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.held_state import HeldState
from ilc.gradients._trials.held_states import HeldStates, first_difference_of_states
from ilc.gradients._trials.held_values import nearly_equal
from ilc.gradients._trials.random_numbers import random_numbers_untouched, seed_everything
from ilc.gradients._trials.trial_passes import buffers_untouched, copied
from ilc.objectives import ObjectiveFunction

Batches = Values | list[Values]


class Trial(NamedTuple):
    """What the two orders showed.

    Attributes:
        conclusive: whether anything could be seen; it cannot if every risk is NaN or infinite.
        culprit: the name of what one pass hands to the next, empty if it has no name; None if there is
            nothing.
    """

    conclusive: bool
    culprit: str | None


def try_both_orders(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    before: HeldStates,
    in_later_step: bool = False,
) -> Trial:
    """Compare the last environment after the first one with the last environment by itself.

    In a later step, when a model has trained for long, less is refused. Of the state that passes leave, only
    tensors of one shape count. A model whose passes never repeat shows nothing.
    """
    parameters = trainable_parameters(model)
    generators, averaged = before.generators, model if model.training else None
    restore = before.restore_changed if in_later_step else before.restore

    def passed(seed: int, *environments: int) -> tuple[list[Tensor], HeldState]:
        """Pass these environments in turn; return what the last one shows and the state that it leaves."""
        seen: list[Tensor] = []
        for x, y in zip(copied(inputs, environments), copied(targets, environments), strict=True):
            with random_numbers_untouched(x, generators), buffers_untouched(averaged):
                seed_everything(seed, generators)
                outputs = outputs_of(model, x)
                objective = as_objective(value_of(loss_fn, outputs, y))
                # Gradients are compared too. Where the last layer starts from zeros, as it often does, only
                # gradients show what came before.
                found = differentiated(objective.loss, model, parameters)
                seen = [objective.risk, *tree_leaves(outputs), *model.buffers(), *found]
                seen = [value.detach().clone() for value in seen if isinstance(value, Tensor)]
        after = before.states[0].saved_now()
        restore()
        return seen, after

    with _shaken(before, restore):
        return _compared(passed, len(inputs), in_later_step)


def _compared(passed: Callable[..., tuple[list[Tensor], HeldState]], n: int, in_later_step: bool) -> Trial:
    finite = [bool(passed(0, e)[0][0].isfinite()) for e in range(n)]
    if not any(finite):
        return Trial(conclusive=False, culprit=None)
    last = max(e for e, is_finite in enumerate(finite) if is_finite)
    # A NaN or an infinity shows in the next pass where finite numbers may cancel, for example before a
    # softmax. So the first environment with such a risk is tried as well.
    firsts = {0, *[e for e, is_finite in enumerate(finite) if not is_finite][:1]}
    for seed in (0, 1):  # One dropout mask may hide what another one shows.
        seen_by_itself, state_by_itself = passed(seed, last)
        if in_later_step and not all(map(nearly_equal, passed(seed, last)[0], seen_by_itself)):
            return Trial(conclusive=True, culprit=None)
        for first in firsts:
            seen_after_first, state_after_first = passed(seed, first, last)
            different = first_difference_of_states(state_after_first, state_by_itself, in_later_step)
            if different is not None or not all(map(nearly_equal, seen_after_first, seen_by_itself)):
                return Trial(conclusive=True, culprit=different or "")
    return Trial(conclusive=True, culprit=None)


@contextmanager
def _shaken(before: HeldStates, restore: Callable[[], None]) -> Iterator[None]:
    """Let all passes begin with other frozen parameters, if a pass has moved them.

    A copy that follows the weights may be equal to them at the start, so that nothing would show.
    """
    moved = [saved for state in before.states for saved in state.changed_parameters()]
    copies = [saved.copy.clone() for saved in moved]
    random_numbers = torch.Generator().manual_seed(0)
    for saved in moved:
        if saved.copy.is_floating_point():
            noise = torch.rand(saved.copy.shape, generator=random_numbers).to(saved.copy)
            saved.copy.mul_(0.5 + noise)
    try:
        yield
    finally:
        for saved, copy in zip(moved, copies, strict=True):
            saved.copy.copy_(copy)
        restore()
