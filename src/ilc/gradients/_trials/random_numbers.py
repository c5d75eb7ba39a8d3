"""Random numbers, also those of generators that models and losses hold: seeded and put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

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


class RandomNumbers(NamedTuple):
    """The states of the random numbers that all code shares: PyTorch's, Python's and NumPy's.

    NumPy's is None if nobody has imported NumPy.
    """

    torch: list[Tensor]
    python: Any
    numpy: Any


def torch_states(like: Values) -> list[Tensor]:
    """The states of PyTorch's generators that a pass on this tensor's device uses."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(like.device)] if like.is_cuda else [])]


def set_torch_states(states: list[Tensor], like: Values) -> None:
    """Put these states back."""
    torch.set_rng_state(states[0])
    if like.is_cuda:
        torch.cuda.set_rng_state(states[1], like.device)


def shared_random_numbers(like: Values) -> RandomNumbers:
    """The present states; ``like`` says on which device numbers are drawn."""
    numpy = sys.modules.get("numpy")
    of_numpy = None if numpy is None else numpy.random.get_state()
    return RandomNumbers(torch_states(like), random.getstate(), of_numpy)


def set_shared_random_numbers(states: RandomNumbers, like: Values) -> None:
    """Put these states back."""
    set_torch_states(states.torch, like)
    random.setstate(states.python)
    numpy = sys.modules.get("numpy")
    if numpy is not None and states.numpy is not None:
        numpy.random.set_state(states.numpy)


def states_of(generators: Sequence[Generator]) -> list[Any]:
    """The present states of generators that models and losses hold."""
    return [_state_of(generator) for generator in generators]


def set_states(generators: Sequence[Generator], states: Sequence[Any]) -> None:
    """Put these states back."""
    for generator, state in zip(generators, states, strict=True):
        _set_state(generator, state)


def same_states(one: Any, other: Any) -> bool:
    """Whether two states are equal, so that nothing was drawn in between."""
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_states(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)) and type(one) is type(other):
        return len(one) == len(other) and all(map(same_states, one, other))
    if hasattr(one, "tobytes"):  # NumPy's arrays
        return hasattr(other, "tobytes") and bool(one.tobytes() == other.tobytes())
    return bool(one == other)


@contextmanager
def random_numbers_untouched(like: Values, generators: Sequence[Generator] = ()) -> Iterator[None]:
    """Put the states of all random numbers back at the end: the shared ones and those given."""
    shared, own = shared_random_numbers(like), states_of(generators)
    try:
        yield
    finally:
        set_shared_random_numbers(shared, like)
        set_states(generators, own)


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
