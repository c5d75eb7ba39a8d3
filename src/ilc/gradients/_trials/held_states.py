"""Several states as one, and where two of them differ."""

from __future__ import annotations

from collections.abc import Sequence

from ilc.gradients._trials.held_state import HeldState
from ilc.gradients._trials.random_numbers import Generator


class HeldStates:
    """Several states as one."""

    def __init__(self, states: Sequence[HeldState]) -> None:
        self.states = list(states)

    def restore(self) -> None:
        """Put every value back that can be put back."""
        for state in self.states:
            state.restore()

    def restore_changed(self) -> None:
        """Do the same, but leave to other threads what they may have filled beside the modules."""
        for state in self.states:
            state.restore_changed()

    @property
    def generators(self) -> list[Generator]:
        """The generators of random numbers among the values, each once."""
        found = [generator for state in self.states for generator in state.generators]
        return list({id(generator): generator for generator in found}.values())


def first_difference_of_states(one: HeldState, other: HeldState, only_numbers: bool = False) -> str | None:
    """The name of the first value that counts and is not the same in both; None if all are.

    With ``only_numbers`` just tensors of one shape count: a cache that has grown for a longer text does not.
    """
    ours, theirs = one.strict_values(), other.strict_values()
    for name in {**ours, **theirs}:
        if name not in ours or name not in theirs:
            if not only_numbers:
                return name
        elif not ours[name].equals(theirs[name]) and (
            not only_numbers or ours[name].is_comparable(theirs[name])
        ):
            return name
    return None
