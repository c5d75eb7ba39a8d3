"""What a pass leaves in the model: buffers are followed, what else would reach the next pass is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ilc.errors import UserError
from ilc.gradients._environment import as_objective, differentiated, trainable_parameters
from ilc.gradients._trials.findings import verdicts
from ilc.gradients._trials.module_state import Memory, differing, nearly_equal
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

_QUESTION = "whether passes leave something, if only what none reads"
"""Beside it stands whether an environment has several examples: one hides more, behind a mean for one."""


@contextmanager
def nothing_left_behind(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
    vectorized: bool,
) -> Iterator[None]:
    """Around the passes of all environments: none of them may see what another left in the model.

    Buffers in training mode are the way's affair: every environment starts from the same and they end as the
    mean, whether written in place or assigned anew. Everything else that a pass changes (numbers, lists and
    tensors that are plain attributes, what hooks keep, buffers in evaluation mode) is looked for when a model
    or its loss is first met, or is no longer what it was, so other steps pay nothing. If anything changed,
    two environments are tried out in either order: what every pass writes before it reads it, as the old
    ``weight_norm`` does, is no harm. What a loss that is a module keeps is harm if it changes a risk.

    Args:
        model: called once per environment, or once for many.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        vectorized: whether what a pass leaves in the model is of no use outside, and is taken away again.

    Raises:
        UserError: one environment's pass depends on another's. The model is as it was before.
    """
    known, question = verdicts(model, loss_fn), (_QUESTION, _longest(inputs) > 1)
    if question in known and not (vectorized and known[question]):
        yield
        return
    start = [buffer.detach().clone() for buffer in model.buffers()]
    before = [Memory(model), *(Memory(module, with_buffers=True) for module in modules_of(loss_fn, model))]
    try:
        yield
    except BaseException:
        _restore(before)
        raise
    changed = [
        f"{whose}.{what}"
        for whose, held in zip(("model", "loss_fn"), before, strict=False)
        for what in held.changes()
    ]
    if changed:
        after = before if vectorized else [held.again() for held in before]
        _restore(before)
        shown = True
        if question not in known:
            with buffers_untouched(model), zeros_replaced(model):
                with torch.no_grad():
                    for buffer, value in zip(model.buffers(), start, strict=True):
                        buffer.copy_(value)
                shown, reached = _reaches_the_next(model, loss_fn, inputs, targets, before)
            if not shown:  # A buffer that every pass moves would be refused later anyway.
                buffers = {f"model.{name}" for name, _ in model.named_buffers()}
                reached = next((name for name in changed if name in buffers), None)
                reached = reached and reached.removeprefix("model.")
            if reached is not None:
                raise UserError(_message(f"model.{reached}" if reached else changed[0], model.training))
        _restore(after)
        if not shown:
            return
    known[question] = bool(changed)


def _longest(inputs: Tensor | list[Tensor]) -> int:
    return inputs.shape[1] if isinstance(inputs, Tensor) else max((len(x) for x in inputs), default=0)


def _restore(everything: list[Memory]) -> None:
    for held in everything:
        held.restore()


def _reaches_the_next(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
    before: list[Memory],
) -> tuple[bool, str | None]:
    """What differs when the last environment comes after the first instead of alone; None if nothing does.

    First whether anything can be seen: next to a risk that is NaN anyway, nothing can.
    """
    parameters = trainable_parameters(model)

    def passed(seed: int, *environments: int) -> tuple[list[Tensor], Memory]:
        seen: list[Tensor] = []
        for x, y in zip(copied(inputs, environments), copied(targets, environments), strict=True):
            with random_numbers_untouched(x, model), buffers_untouched(model if model.training else None):
                seed_everything(seed, generators_of(model))
                outputs = model(x)
                objective = as_objective(loss_fn(outputs, y))
                # Gradients too: with a last layer of zeros, as many start, they alone see what came before.
                found = differentiated(objective.loss, model, parameters)
                seen = [objective.risk, *tree_leaves(outputs), *model.buffers(), *found]
                seen = [value.detach().clone() for value in seen if isinstance(value, Tensor)]
        after = before[0].again()
        _restore(before)
        return seen, after

    finite = [bool(passed(0, e)[0][0].isfinite()) for e in range(len(inputs))]
    if not any(finite):
        return False, None
    last = max(e for e, seen_at_all in enumerate(finite) if seen_at_all)
    # What is NaN or infinite reaches the next where finite numbers may cancel, before a softmax for one.
    firsts = {0, *[e for e, seen_at_all in enumerate(finite) if not seen_at_all][:1]}
    for first, seed in product(firsts, (0, 1)):  # What one dropout hides, another shows.
        (seen, after), (alone, after_alone) = passed(seed, first, last), passed(seed, last)
        different = differing(after, after_alone)
        if different is not None or not all(map(nearly_equal, seen, alone)):
            return True, different or ""
    return True, None


def _message(what: str, training: bool) -> str:
    if what.startswith("loss_fn"):
        return (
            f"the loss changes {what}, and what one environment leaves there reaches the risk of the next: "
            "change it between the steps, or make it a buffer of the model, which every environment finds "
            "alike"
        )
    if training:
        return (
            f"the forward pass changes {what}, and what one environment leaves there reaches the next: "
            "make it a buffer (register_buffer), which every environment finds alike, keep it outside the "
            "model, or, if only the first pass makes it, call the model once before training"
        )
    return (
        f"the forward pass changes {what} in evaluation mode, and what one environment leaves there "
        "reaches the next: call model.train(), where buffers are followed, or change it outside the pass"
    )
