"""What a pass leaves in the model: buffers are followed, what else would reach the next pass is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ilc.errors import UserError
from ilc.gradients.conditioning import zeros_replaced
from ilc.gradients.environment import as_objective, differentiated, trainable_parameters
from ilc.gradients.memory import Memory, differing
from ilc.gradients.trial import (
    buffers_untouched,
    copied,
    generators_of,
    modules_of,
    random_numbers_untouched,
    seed_everything,
)
from ilc.gradients.verdicts import verdicts
from ilc.objectives import ObjectiveFunction

_QUESTION = "whether passes leave something, if only what none reads"


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
    known = verdicts(model, loss_fn)
    if _QUESTION in known and not (vectorized and known[_QUESTION]):
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
        if _QUESTION not in known:
            with buffers_untouched(model), zeros_replaced(model):
                with torch.no_grad():
                    for buffer, value in zip(model.buffers(), start, strict=True):
                        buffer.copy_(value)
                reached = _reaches_the_next(model, loss_fn, inputs, targets, before)
            if reached is not None:
                raise UserError(_message(f"model.{reached}" if reached else changed[0], model.training))
        _restore(after)
    known[_QUESTION] = bool(changed)


def _restore(everything: list[Memory]) -> None:
    for held in everything:
        held.restore()


def _reaches_the_next(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
    before: list[Memory],
) -> str | None:
    """What differs when the last environment comes after the first instead of alone; None if nothing does."""
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

    last = len(inputs) - 1
    while last > 1 and not bool(passed(0, last)[0][0].isfinite()):
        last -= 1  # Next to a risk that is NaN anyway, nothing can be seen.
    for seed in (0, 1):  # What one dropout hides, another shows.
        (seen, after), (alone, after_alone) = passed(seed, 0, last), passed(seed, last)
        different = differing(after, after_alone)
        if different is not None or not all(map(_close, seen, alone)):
            return different or ""
    return None


def _close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.double(), other.double(), equal_nan=True)


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
