"""State that one environment's pass hands to the next: buffers are averaged, all other state is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ilc.errors import UserError
from ilc.gradients._environment import as_objective, differentiated, trainable_parameters
from ilc.gradients._passes.calls import outputs_of, value_of
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.findings import findings
from ilc.gradients._trials.held_values import nearly_equal
from ilc.gradients._trials.module_state import ModuleState, first_difference_of_states
from ilc.gradients._trials.trial_parameters import zeros_replaced
from ilc.gradients._trials.trial_passes import (
    buffers_untouched,
    copied,
    generators_of,
    modules_of,
    random_numbers_untouched,
    seed_everything,
)
from ilc.objectives import ObjectiveFunction

_QUESTION = "whether a pass changes anything, even if no other pass reads it"
"""Its key also says whether an environment has several examples: with one, a mean may hide a change."""

Batches = Values | list[Values]


@contextmanager
def no_state_between_environments(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Batches, targets: Batches, vectorized: bool
) -> Iterator[None]:
    """Surround the passes of all environments; refuse a model whose passes depend on each other.

    Buffers in training mode are no problem. Every environment starts from the same buffers, and they end as
    the mean over environments. A pass may also change other things: numbers, lists and tensors that are plain
    attributes, what hooks keep, buffers in evaluation mode. This looks for such changes when a model or its
    loss is new or has changed, so that other steps cost nothing.

    If a pass changed anything, two environments are tried in both orders. A value that every pass writes
    before it reads it does no harm, as in the old ``weight_norm``. State of a loss that is a module does harm
    if it changes a risk.

    Args:
        model: called once per environment, or once for many.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        vectorized: whether what a pass leaves in the model is useless outside and has to be removed.

    Raises:
        UserError: one environment's pass depends on another's. The model is then as it was before.
    """
    known, question = findings(model, loss_fn), (_QUESTION, _longest(inputs) > 1)
    if question in known and not (vectorized and known[question]):
        yield
        return
    buffers = [buffer.detach().clone() for buffer in model.buffers()]
    before = [
        ModuleState(model),
        *(ModuleState(module, with_buffers=True) for module in modules_of(loss_fn, model)),
    ]
    try:
        yield
    except BaseException:
        _restore(before)
        raise
    changed = [
        f"{owner}.{name}"
        for owner, state in zip(("model", "loss_fn"), before, strict=False)
        for name in state.changes()
    ]
    if not changed:
        known[question] = False
        return
    after = before if vectorized else [state.saved_now() for state in before]
    _restore(before)
    conclusive = True
    if question not in known:
        with buffers_untouched(model), zeros_replaced(model):
            _set_buffers(model, buffers)
            trial = _try_both_orders(model, loss_fn, inputs, targets, before)
        conclusive, culprit = trial.conclusive, trial.culprit
        if not conclusive:  # A buffer that every pass changes would be refused in a later step anyway.
            culprit = _first_buffer(model, changed)
        if culprit is not None:
            raise UserError(_message(f"model.{culprit}" if culprit else changed[0], model.training))
    _restore(after)
    if conclusive:
        known[question] = True


def _longest(inputs: Batches) -> int:
    """The number of examples in the largest environment."""
    return max((len(x) for x in inputs), default=0) if isinstance(inputs, list) else inputs.shape[1]


def _restore(states: list[ModuleState]) -> None:
    for state in states:
        state.restore()


def _set_buffers(model: nn.Module, values: list[Tensor]) -> None:
    with torch.no_grad():
        for buffer, value in zip(model.buffers(), values, strict=True):
            buffer.copy_(value)


def _first_buffer(model: nn.Module, changed: list[str]) -> str | None:
    """The first of the changed names that is a buffer of the model, without its owner."""
    buffers = {f"model.{name}" for name, _ in model.named_buffers()}
    name = next((name for name in changed if name in buffers), None)
    return None if name is None else name.removeprefix("model.")


class _Trial(NamedTuple):
    """What the two orders showed.

    Attributes:
        conclusive: whether anything could be seen; it cannot if every risk is NaN or infinite.
        culprit: the name of what one pass hands to the next, empty if it has no name; None if there is
            nothing.
    """

    conclusive: bool
    culprit: str | None


def _try_both_orders(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Batches, targets: Batches, before: list[ModuleState]
) -> _Trial:
    """Compare the last environment after the first one with the last environment by itself."""
    parameters = trainable_parameters(model)

    def passed(seed: int, *environments: int) -> tuple[list[Tensor], ModuleState]:
        """Pass these environments in turn; return what the last one shows and the state that it leaves."""
        seen: list[Tensor] = []
        for x, y in zip(copied(inputs, environments), copied(targets, environments), strict=True):
            with random_numbers_untouched(x, model), buffers_untouched(model if model.training else None):
                seed_everything(seed, generators_of(model))
                outputs = outputs_of(model, x)
                objective = as_objective(value_of(loss_fn, outputs, y))
                # Gradients are compared too. Where the last layer starts from zeros, as it often does, only
                # gradients show what came before.
                found = differentiated(objective.loss, model, parameters)
                seen = [objective.risk, *tree_leaves(outputs), *model.buffers(), *found]
                seen = [value.detach().clone() for value in seen if isinstance(value, Tensor)]
        after = before[0].saved_now()
        _restore(before)
        return seen, after

    finite = [bool(passed(0, e)[0][0].isfinite()) for e in range(len(inputs))]
    if not any(finite):
        return _Trial(conclusive=False, culprit=None)
    last = max(e for e, is_finite in enumerate(finite) if is_finite)
    # A NaN or an infinity shows in the next pass where finite numbers may cancel, for example before a
    # softmax. So the first environment with such a risk is tried as well.
    firsts = {0, *[e for e, is_finite in enumerate(finite) if not is_finite][:1]}
    for seed in (0, 1):  # One dropout mask may hide what another one shows.
        seen_by_itself, state_by_itself = passed(seed, last)
        for first in firsts:
            seen_after_first, state_after_first = passed(seed, first, last)
            different = first_difference_of_states(state_after_first, state_by_itself)
            if different is not None or not all(map(nearly_equal, seen_after_first, seen_by_itself)):
                return _Trial(conclusive=True, culprit=different or "")
    return _Trial(conclusive=True, culprit=None)


def _message(what: str, training: bool) -> str:
    if what.startswith("loss_fn"):
        return (
            f"the loss changes {what}, so that the risk of one environment depends on the environment before "
            "it: change it between the steps, or make it a buffer of the model, because every environment "
            "starts with the same buffers"
        )
    if training:
        return (
            f"the forward pass changes {what}, so that one environment depends on the environment before it: "
            "make it a buffer (register_buffer), because every environment starts with the same buffers, or "
            "keep it outside the model. If only the first pass makes it, call the model once before "
            "training"
        )
    return (
        f"the forward pass changes {what} in evaluation mode, so that one environment depends on the "
        "environment before it: call model.train(), because then every environment starts with the same "
        "buffers, or change it outside the pass"
    )
