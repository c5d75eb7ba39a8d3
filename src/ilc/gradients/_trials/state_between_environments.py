"""State that one environment's pass hands to the next: buffers are averaged, all other state is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._trials.both_orders import Batches, try_both_orders
from ilc.gradients._trials.findings import Findings, all_findings, findings
from ilc.gradients._trials.held_state import HeldState, ModuleState
from ilc.gradients._trials.held_states import HeldStates
from ilc.gradients._trials.late_changes import PlainAttributes
from ilc.gradients._trials.late_state import accepted_changes, check_late_changes, late_changes_refused
from ilc.gradients._trials.passed_twice import check_passed_twice
from ilc.gradients._trials.state_beside import StateBeside
from ilc.gradients._trials.state_messages import state_message
from ilc.gradients._trials.trial_parameters import zeros_replaced
from ilc.gradients._trials.trial_passes import buffers_untouched, modules_of
from ilc.objectives import ObjectiveFunction

_ENOUGH = 3
"""So often the loss and global variables are looked at, although flags and numbers change with each step."""
_MOST_NAMES = 3
"""How many changed values a refusal names when the trial does not show which of them does harm."""
_QUESTION = "whether a pass changes anything, even if no other pass reads it"
"""Its key also says whether an environment has several examples: with one, a mean may hide a change."""


@contextmanager
def no_state_between_environments(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Batches, targets: Batches, vectorized: bool
) -> Iterator[None]:
    """Surround the passes of all environments; refuse a model whose passes depend on each other.

    Buffers in training mode are no problem. Every environment starts from the same buffers, and they end as
    the mean over environments. A pass may also change other things: numbers, lists and tensors that are plain
    attributes, what hooks keep, buffers in evaluation mode. This looks for such changes when a model or its
    loss is new or has changed. First one environment is passed twice, because state may be kept in places
    that are not searched. Later steps only look at plain attributes, which costs little.

    If a pass changed anything, two environments are tried in both orders. A value that every pass writes
    before it reads it does no harm, as in the old ``weight_norm``. State of a loss, and a global variable, do
    harm if they change a risk or a gradient.

    Args:
        model: called once per environment, or once for many.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        vectorized: whether what a pass leaves in the model is useless outside and has to be removed.

    Raises:
        UserError: one environment's pass depends on another's. The model is then as it was before, but for
            a large frozen parameter that a pass has moved, of which there is no copy.
    """
    known, question = findings(model, loss_fn), (_QUESTION, _longest(inputs) > 1)
    if question in known and not (vectorized and known[question]):
        surrounding = late_changes_refused(model, loss_fn, inputs, targets, known, vectorized)
    else:
        surrounding = _looked_at(model, loss_fn, inputs, targets, known, question, vectorized)
    with surrounding:
        yield


@contextmanager
def _looked_at(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    known: Findings,
    question: object,
    vectorized: bool,
) -> Iterator[None]:
    """Do it for a step that saves everything before its passes."""
    is_new = question not in known
    buffers = [buffer.detach().clone() for buffer in model.buffers()]
    losses = modules_of(loss_fn, model)
    own: list[ModuleState] = [
        ModuleState(model, with_parameters=is_new),
        *(ModuleState(module, with_buffers=True, with_parameters=is_new) for module in losses),
    ]
    looks_beside = is_new and sum(question in each for each in all_findings(model)) < _ENOUGH
    beside = [StateBeside(loss_fn, nn.ModuleList([model, *losses]))] if looks_beside else []
    before = HeldStates([*own, *beside])
    conclusive = not looks_beside or check_passed_twice(model, loss_fn, inputs, targets, before)
    look, accepted = PlainAttributes(model, *losses), accepted_changes(known)
    try:
        yield
    except BaseException:
        before.restore()
        raise
    owners = ["model.", *["loss_fn." for _ in losses], *["" for _ in beside]]
    pairs = list(zip(owners, before.states, strict=True))
    for_good = [owner + name for owner, state in pairs for name in state.changes_for_good()] if is_new else []
    changed = [owner + name for owner, state in pairs for name in state.changes()]
    lately = look.changed() - accepted
    if changed:
        for state in beside:
            state.forget_unchanged()
        # What a pass of many environments leaves in a module is of no use outside. A counter elsewhere stays.
        left: list[HeldState] = [state.again() for state in beside]
        if vectorized and any(state.holds_what_has_left_vmap() for state in left):
            left = [*beside]
        after = HeldStates([*(own if vectorized else [state.saved_now() for state in own]), *left])
        before.restore()
        if for_good:
            raise UserError(state_message(for_good[0], model.training))
        if is_new:
            conclusive &= _tried(model, loss_fn, inputs, targets, before, buffers, changed)
        elif lately:
            lately = check_late_changes(model, loss_fn, inputs, targets, look, lately, vectorized)
        after.restore()
    if conclusive:
        known[question] = known.get(question, False) or bool(changed)
        accepted |= lately


def _tried(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batches,
    targets: Batches,
    before: HeldStates,
    buffers: list[Tensor],
    changed: list[str],
) -> bool:
    """Try both orders with the buffers of before the step. Return whether anything could be seen.

    Raises:
        UserError: one environment's pass depends on another's.
    """
    with buffers_untouched(model), zeros_replaced(model):
        _set_buffers(model, buffers)
        trial = try_both_orders(model, loss_fn, inputs, targets, before)
    culprit = trial.culprit
    if not trial.conclusive:  # A buffer that every pass changes would be refused in a later step anyway.
        culprit = _first_buffer(model, changed)
    if culprit is not None:
        what = f"model.{culprit}" if culprit else " or ".join(changed[:_MOST_NAMES])
        raise UserError(state_message(what, model.training))
    return trial.conclusive


def _longest(inputs: Batches) -> int:
    """The number of examples in the largest environment."""
    return max((len(x) for x in inputs), default=0) if isinstance(inputs, list) else inputs.shape[1]


def _set_buffers(model: nn.Module, values: list[Tensor]) -> None:
    with torch.no_grad():
        for buffer, value in zip(model.buffers(), values, strict=True):
            buffer.copy_(value)


def _first_buffer(model: nn.Module, changed: list[str]) -> str | None:
    """The first of the changed names that is a buffer of the model, without its owner."""
    buffers = {f"model.{name}" for name, _ in model.named_buffers()}
    name = next((name for name in changed if name in buffers), None)
    return None if name is None else name.removeprefix("model.")
