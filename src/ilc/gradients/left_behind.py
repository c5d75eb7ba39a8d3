"""What a pass leaves in the model: buffers are followed, what else would reach the next pass is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients.environment import as_objective
from ilc.gradients.memory import Memory, differing
from ilc.objectives import ObjectiveFunction

_leaving: WeakKeyDictionary[nn.Module, dict[bool, bool]] = WeakKeyDictionary()
"""Of models that were looked at, by mode: whether their passes leave something, if only what none reads."""


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
    is first met, so later steps pay nothing. If anything changed, two environments are tried out in either
    order: what every pass writes before it reads it, as the old ``weight_norm`` does, is no harm.

    Args:
        model: called once per environment, or once for many.
        loss_fn: the objective.
        inputs: of each environment.
        targets: of each environment.
        vectorized: whether what a pass leaves in the model is of no use outside, and is taken away again.

    Raises:
        UserError: one environment's pass depends on another's. The model is as it was before.
    """
    known = _leaving.get(model, {})
    if model.training in known and not (vectorized and known[model.training]):
        yield
        return
    before = Memory(model)
    try:
        yield
    except BaseException:
        before.restore()
        raise
    changed = before.changes()
    if changed:
        after = before if vectorized else Memory(model)
        before.restore()
        if model.training not in known:
            reached = _reaches_the_next(model, loss_fn, inputs, targets, before)
            if reached is not None:
                raise UserError(_message(reached or changed[0], model.training))
        after.restore()
    _leaving.setdefault(model, {})[model.training] = bool(changed)


def _reaches_the_next(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
    before: Memory,
) -> str | None:
    """What differs when the last environment comes after the first instead of alone; None if nothing does."""

    def passed(*environments: int) -> tuple[Tensor, Memory]:
        risk = torch.zeros(())
        for e in environments:
            with random_numbers_untouched(inputs[e]), buffers_untouched(model if model.training else None):
                torch.manual_seed(0)
                risk = as_objective(loss_fn(model(inputs[e]), targets[e])).risk
        after = Memory(model)
        before.restore()
        return risk, after

    with torch.no_grad():
        (risk, after), (risk_alone, after_alone) = passed(0, len(inputs) - 1), passed(len(inputs) - 1)
    different = differing(after, after_alone)
    if different is None and torch.allclose(risk, risk_alone, equal_nan=True):
        return None
    return different or ""


def _message(what: str, training: bool) -> str:
    if training:
        return (
            f"the forward pass changes model.{what}, and what one environment leaves there reaches the next: "
            "make it a buffer (register_buffer), which every environment finds alike, keep it outside the "
            "model, or, if only the first pass makes it, call the model once before training"
        )
    return (
        f"the forward pass changes model.{what} in evaluation mode, and what one environment leaves there "
        "reaches the next: call model.train(), where buffers are followed, or change it outside the pass"
    )


@contextmanager
def buffers_untouched(model: nn.Module | None) -> Iterator[None]:
    """Passes that leave the buffers as they were; of no model, whatever they do."""
    places = [] if model is None else [(module, dict(module._buffers)) for module in model.modules()]
    values = [{key: b.clone() for key, b in kept.items() if b is not None} for _, kept in places]
    try:
        yield
    finally:
        for (module, kept), copies in zip(places, values, strict=True):
            module._buffers.clear()
            module._buffers.update(kept)
            with torch.no_grad():
                for key, copy in copies.items():
                    module._buffers[key].copy_(copy)  # type: ignore[union-attr]


@contextmanager
def random_numbers_untouched(like: Tensor) -> Iterator[None]:
    """Passes that draw random numbers and leave those that come after as they were."""
    state = random.getstate()
    with torch.random.fork_rng([like.device] if like.is_cuda else []):
        yield
    random.setstate(state)
