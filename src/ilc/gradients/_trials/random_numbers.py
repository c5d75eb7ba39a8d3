"""Random numbers, also those of generators that models and losses hold: seeded and put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ilc.gradients._tensor_tree import Values

Generator = Any
"""A ``torch.Generator``, a ``random.Random``, a ``numpy.random.Generator`` or a ``RandomState``."""


def is_generator(value: Any) -> bool:
    """Whether a value draws random numbers."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState)):
        return True
    if isinstance(value, random.SystemRandom):  # It has no seed.
        return False
    return isinstance(value, (torch.Generator, random.Random))


@contextmanager
def random_numbers_untouched(like: Values, generators: Sequence[Generator] = ()) -> Iterator[None]:
    """Put the states of all random numbers back at the end: PyTorch's, Python's, NumPy's and those given."""
    state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = None if numpy is None else numpy.random.get_state()
    states = [_state_of(generator) for generator in generators]
    try:
        with torch.random.fork_rng([like.device] if like.is_cuda else []):
            yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
        for generator, kept in zip(generators, states, strict=True):
            _set_state(generator, kept)


def seed_everything(seed: int, generators: Sequence[Generator] = ()) -> None:
    """Seed all random numbers that ``random_numbers_untouched`` puts back."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    for generator in generators:
        _set_seed(generator, seed)


def _state_of(generator: Generator) -> Any:
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state if _is_new(generator) else generator.get_state()


def _set_state(generator: Generator, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, torch.Generator) or not _is_new(generator):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def _set_seed(generator: Generator, seed: int) -> None:
    if isinstance(generator, torch.Generator):
        generator.manual_seed(seed)
    elif isinstance(generator, random.Random) or not _is_new(generator):
        generator.seed(seed)
    else:
        generator.bit_generator.state = type(generator.bit_generator)(seed).state


def _is_new(generator: Generator) -> bool:
    """Whether this is NumPy's newer kind of generator."""
    return hasattr(generator, "bit_generator")
