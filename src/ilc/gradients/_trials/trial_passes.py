"""Passes that only look: whatever they do to the user's model, tensors or random numbers is taken back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ilc.gradients._trials.module_state import Memory


class Trial:
    """What trial passes start from, each alike."""

    def __init__(self, parts: nn.Module) -> None:
        self._held = Memory(parts)
        self._generators = generators_of(parts)

    def start(self, seed: int = 0) -> None:
        """Put back what an earlier pass left in modules, and draw the same random numbers again."""
        self._held.restore()
        seed_everything(seed, self._generators)


@contextmanager
def trial(model: nn.Module, loss_fn: Any, like: Tensor) -> Iterator[Trial]:
    """Around trial passes, which afterwards have left nothing: in model and loss, and in what is drawn.

    What they are given may be written to as well: give them copies. Buffers are put back at the end; for
    each pass that is ``buffers_untouched``.

    Args:
        model: with all that its modules hold.
        loss_fn: the objective; if it is a module or a method of one, that is put back too.
        like: a tensor on the device whose random numbers are drawn.
    """
    parts = nn.ModuleList([model, *modules_of(loss_fn, model)])
    with random_numbers_untouched(like, parts), buffers_untouched(parts):
        passes = Trial(parts)
        try:
            yield passes
        finally:
            passes.start()


def modules_of(loss_fn: Any, model: nn.Module) -> list[nn.Module]:
    """The module that a loss is or belongs to, if it is beside the model rather than around it or in it."""
    owner = getattr(loss_fn, "__self__", loss_fn)
    if not isinstance(owner, nn.Module) or set(owner.modules()) & set(model.modules()):
        return []
    return [owner]


def copied(tensors: Tensor | Sequence[Tensor], which: Sequence[int]) -> list[Tensor]:
    """Copies of the batches of some environments, with no graph behind them."""
    return [tensors[e].detach().clone() for e in which]


@contextmanager
def buffers_untouched(model: nn.Module | None) -> Iterator[None]:
    """Passes that leave the buffers as they were; of no model, whatever they do."""
    places = [] if model is None else [(module, dict(module._buffers)) for module in model.modules()]
    values = [{key: b.clone() for key, b in kept.items() if b is not None} for _, kept in places]
    try:
        yield
    finally:
        for (module, kept), copies in zip(places, values, strict=True):
            if not isinstance(module, torch.jit.ScriptModule):  # There, assigning anew writes in place.
                module._buffers.clear()
                module._buffers.update(kept)
            with torch.no_grad():
                for key, copy in copies.items():
                    buffer = module._buffers[key]
                    if buffer is not None and not same(buffer, copy):
                        buffer.copy_(copy)


def same(one: Tensor, other: Tensor) -> bool:
    """Whether both hold the same values, NaN being equal to NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


@contextmanager
def random_numbers_untouched(like: Tensor, model: nn.Module | None = None) -> Iterator[None]:
    """Passes that draw random numbers and leave those that come after as they were.

    Those of PyTorch, Python and NumPy, and of generators that the model's modules have.
    """
    state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = None if numpy is None else numpy.random.get_state()
    own = [] if model is None else generators_of(model)
    own_states = [generator.get_state() for generator in own]
    try:
        with torch.random.fork_rng([like.device] if like.is_cuda else []):
            yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
        for generator, kept in zip(own, own_states, strict=True):
            generator.set_state(kept)


def generators_of(model: nn.Module) -> list[torch.Generator]:
    """The generators of random numbers that its modules have."""
    held = (value for module in model.modules() for value in vars(module).values())
    return [value for value in held if isinstance(value, torch.Generator)]


def seed_everything(seed: int, generators: Sequence[torch.Generator] = ()) -> None:
    """Seed all that ``random_numbers_untouched`` takes back."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    for generator in generators:
        generator.manual_seed(seed)


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """The model's dropout layers let everything pass, so that two ways can be compared."""
    active = [layer for layer in model.modules() if isinstance(layer, _DropoutNd) and layer.training]
    try:
        for layer in active:
            layer.training = False
        yield
    finally:
        for layer in active:
            layer.training = True
