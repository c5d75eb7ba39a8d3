"""Trial passes: whatever they do to the user's model, tensors or random numbers is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.held_state import ModuleState
from ilc.gradients._trials.random_numbers import (
    RandomNumbers,
    random_numbers_untouched,
    same_states,
    seed_everything,
    set_shared_random_numbers,
    set_states,
    shared_random_numbers,
    states_of,
)
from ilc.gradients._trials.same_values import same

DRAWS = 6
"""How often a model that draws random numbers is tried: one draw may leave every example in its place."""


_of_the_step: ContextVar[RandomNumbers | None] = ContextVar("of_the_step", default=None)


@contextmanager
def drawing_as(step: RandomNumbers) -> Iterator[None]:
    """Let the first draw of every trial be that of a step, which began with these random numbers."""
    token = _of_the_step.set(step)
    try:
        yield
    finally:
        _of_the_step.reset(token)


class TrialPasses:
    """The state from which every trial pass starts."""

    def __init__(self, held: ModuleState, like: Values) -> None:
        self._held, self._like = held, like
        self._own = states_of(held.generators)
        self._start = self._now()

    def reset(self, seed: int = 0) -> None:
        """Put back what an earlier pass changed in modules, and seed all random numbers again.

        Inside ``drawing_as`` the seed 0 stands for the random numbers of the step.
        """
        self._held.restore()
        of_the_step = _of_the_step.get()
        if seed == 0 and of_the_step is not None:
            set_shared_random_numbers(of_the_step, self._like)
            set_states(self._held.generators, self._own)
        else:
            seed_everything(seed, self._held.generators)
        self._start = self._now()

    def has_drawn(self) -> bool:
        """Whether random numbers were drawn since the last reset."""
        return not same_states(self._start, self._now())

    def _now(self) -> tuple[RandomNumbers, list[Any]]:
        return shared_random_numbers(self._like), states_of(self._held.generators)


@contextmanager
def trial_passes(model: nn.Module, loss_fn: Any, like: Values) -> Iterator[TrialPasses]:
    """Surround trial passes; afterwards model, loss and random numbers are as they were before.

    A pass may also write into its inputs, so give it copies. Buffers are put back at the end of all passes.
    ``buffers_untouched`` puts them back after each pass.

    Args:
        model: the model with everything that its modules hold.
        loss_fn: the objective. If it is a module or a method of one, that module is put back too.
        like: a tensor on the device whose random numbers are drawn.
    """
    parts = nn.ModuleList([model, *modules_of(loss_fn, model)])
    held = ModuleState(parts)
    with random_numbers_untouched(like, held.generators), buffers_untouched(parts):
        passes = TrialPasses(held, like)
        try:
            yield passes
        finally:
            passes.reset()


def modules_of(loss_fn: Any, model: nn.Module) -> list[nn.Module]:
    """The module that a loss is or belongs to, unless that module and the model share a part."""
    owner = getattr(loss_fn, "__self__", loss_fn)
    if not isinstance(owner, nn.Module) or set(owner.modules()) & set(model.modules()):
        return []
    return [owner]


def copied(tensors: Values | Sequence[Values], which: Sequence[int]) -> list[Any]:
    """Copies of the batches of these environments, without a graph."""
    return [tensors[e].detach().clone() for e in which]


@contextmanager
def buffers_untouched(model: nn.Module | None) -> Iterator[None]:
    """Put all buffers back at the end. With ``None`` in place of a model it does nothing."""
    places = [] if model is None else [(module, dict(module._buffers)) for module in model.modules()]
    values = [{key: b.clone() for key, b in kept.items() if b is not None} for _, kept in places]
    try:
        yield
    finally:
        for (module, kept), copies in zip(places, values, strict=True):
            if not isinstance(module, torch.jit.ScriptModule):  # Its assignments write in place.
                module._buffers.clear()
                module._buffers.update(kept)
            with torch.no_grad():
                for key, copy in copies.items():
                    buffer = module._buffers[key]
                    if buffer is not None and not same(buffer, copy):
                        buffer.copy_(copy)


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Switch the model's dropout layers off, so that two ways can be compared."""
    active = [layer for layer in model.modules() if isinstance(layer, _DropoutNd) and layer.training]
    try:
        for layer in active:
            layer.training = False
        yield
    finally:
        for layer in active:
            layer.training = True
