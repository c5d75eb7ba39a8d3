"""State that one pass of a sharded model hands to the next: refused, as for a model in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ilc._processes import Processes
from ilc.errors import UserError
from ilc.gradients._environment import as_objective
from ilc.gradients._sharded import reshard
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.held_state import ModuleState
from ilc.gradients._trials.held_states import HeldStates, first_difference_of_states
from ilc.gradients._trials.held_values import nearly_equal
from ilc.gradients._trials.random_numbers import random_numbers_untouched, seed_everything
from ilc.gradients._trials.state_beside import StateBeside
from ilc.gradients._trials.trial_passes import buffers_untouched, modules_of

_QUESTION = "whether a pass of the sharded model changes anything"


@contextmanager
def no_state_between_passes(
    model: nn.Module, loss_fn: Any, losses: Sequence[Callable[[], Any]], processes: Processes
) -> Iterator[None]:
    """Surround the passes of all environments; refuse a model or a loss whose risks depend on each other.

    All processes look at it together, when model and loss are new in one of them, because a pass needs them
    all. If a pass has changed anything beside parameters and buffers, the risk of the last environment by
    itself is compared with its risk after the first one.

    Args:
        model: a sharded model.
        loss_fn: the objective, which ``losses`` calls. A list of a user's functions is not looked at,
            because only the user knows what a second call of them does.
        losses: one for each environment of this process; a call makes a forward pass.
        processes: all processes.

    Raises:
        UserError: in every process, if in any of them one environment's pass depends on another's.
    """
    reshard(model)
    known = findings(model, loss_fn) if callable(loss_fn) else {_QUESTION: True}
    if not processes.any(_QUESTION not in known):
        yield
        return
    parts = nn.ModuleList([model, *modules_of(loss_fn, model)])
    beside = StateBeside(loss_fn, parts)
    before = HeldStates([ModuleState(model), beside])
    try:
        yield
    except BaseException:
        before.restore()
        raise
    owners = ("model.", "")
    changed = [
        owner + name for owner, state in zip(owners, before.states, strict=True) for name in state.changes()
    ]
    if processes.any(bool(changed)):
        beside.forget_unchanged()
        after = HeldStates([before.states[0].saved_now(), beside.again()])
        before.restore()
        culprit = _culprit(model, losses, before, changed)
        if processes.any(culprit is not None):
            raise UserError(
                f"a pass changes {culprit or 'something in another process'}, so that one environment "
                "depends on the environment before it: make it a buffer of the model (register_buffer), "
                "because every environment starts with the same buffers, or change it between the steps"
            )
        after.restore()
    known[_QUESTION] = True


def _culprit(
    model: nn.Module, losses: Sequence[Callable[[], Any]], before: HeldStates, changed: list[str]
) -> str | None:
    """The name of what the last environment sees of the first one; None if it sees nothing."""
    generators, like = before.generators, torch.zeros((), device=next(model.parameters()).device)

    def passed(*environments: int) -> tuple[Tensor, Any]:
        for e in environments:
            with (
                torch.no_grad(),
                random_numbers_untouched(like, generators),
                buffers_untouched(model if model.training else None),
            ):
                seed_everything(0, generators)
                risk = as_objective(losses[e]()).risk
        after = before.states[0].saved_now()
        before.restore()
        return risk, after

    last = len(losses) - 1
    by_itself, state_by_itself = passed(last)
    after_first, state_after_first = passed(0, last)
    name = first_difference_of_states(state_after_first, state_by_itself)
    if name is not None:
        return f"model.{name}"
    if nearly_equal(by_itself, after_first):
        return None
    return next(iter(changed), "something")
