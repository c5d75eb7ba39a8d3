"""State that starts in a later step, such as a running centre after a warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from ilc.errors import UserError
from ilc.gradients._trials.both_orders import Batches, Trial, try_both_orders
from ilc.gradients._trials.findings import Findings
from ilc.gradients._trials.held_state import ModuleState
from ilc.gradients._trials.held_states import HeldStates
from ilc.gradients._trials.late_changes import Place, PlainAttributes
from ilc.gradients._trials.state_beside import StateBeside
from ilc.gradients._trials.state_messages import state_message
from ilc.gradients._trials.trial_parameters import zeros_replaced
from ilc.gradients._trials.trial_passes import buffers_untouched, modules_of
from ilc.objectives import ObjectiveFunction

_ACCEPTED = "which plain attributes may change"


def accepted_changes(known: Findings) -> set[Place]:
    """The plain attributes whose changes were found to do no harm. Callers add to them."""
    found: set[Place] = known.setdefault(_ACCEPTED, set())
    return found


@contextmanager
def late_changes_refused(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    known: Findings,
    vectorized: bool,
) -> Iterator[None]:
    """Surround the passes of a later step; refuse attributes that change only now and do harm.

    Args:
        model: the model.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        known: what is known about the model.
        vectorized: as for ``check_late_changes``.

    Raises:
        UserError: as for ``check_late_changes``.
    """
    look = PlainAttributes(model, *modules_of(loss_fn, model))
    try:
        yield
    except BaseException:
        look.restore()
        raise
    accepted = accepted_changes(known)
    changed = look.changed() - accepted
    if changed:
        accepted |= check_late_changes(model, loss_fn, inputs, targets, look, changed, vectorized)


def check_late_changes(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    before: PlainAttributes,
    changed: set[Place],
    vectorized: bool,
) -> set[Place]:
    """Try two environments in both orders, because attributes have changed that no earlier pass changed.

    Args:
        model: the model after the passes of this step.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        before: the attributes before the passes.
        changed: what has changed since and did not change in earlier steps.
        vectorized: whether what a pass leaves in the model is useless outside and has to be removed.

    Returns:
        The changes that do no harm: all of them, or none if every risk is NaN or infinite.

    Raises:
        UserError: one environment's pass depends on another's. The attributes are then as they were before.
    """
    losses = modules_of(loss_fn, model)
    after = PlainAttributes(model, *losses)
    before.restore()
    trial = _tried(model, loss_fn, inputs, targets, losses)
    if trial.culprit is not None:
        first = min(before.name_of(place, model) for place in changed)
        raise UserError(state_message(f"model.{trial.culprit}" if trial.culprit else first, model.training))
    if not vectorized:
        after.restore()
    return changed if trial.conclusive else set()


def _tried(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Batches, targets: Batches, losses: list[nn.Module]
) -> Trial:
    states = HeldStates(
        [
            ModuleState(model),
            *(ModuleState(module, with_buffers=True) for module in losses),
            StateBeside(loss_fn, nn.ModuleList([model, *losses])),
        ]
    )
    with buffers_untouched(model), zeros_replaced(model):
        try:
            return try_both_orders(model, loss_fn, inputs, targets, states, in_later_step=True)
        except Exception:  # The step has passed, so this says nothing about it.
            return Trial(conclusive=False, culprit=None)
