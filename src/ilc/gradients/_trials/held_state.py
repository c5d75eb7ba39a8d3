"""Everything that modules and losses remember besides parameters and, in training mode, a model's buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from ilc.gradients._trials.containers import (
    Attributes,
    Buffers,
    Parameters,
    identity,
    items_of,
    joined_name,
    put_back,
)
from ilc.gradients._trials.held_values import SavedValue, has_left_vmap
from ilc.gradients._trials.nested_containers import containers_in
from ilc.gradients._trials.random_numbers import Generator, is_generator

_DEEPEST = 5
"""So many containers inside each other are searched: lists of lists, objects in hooks and so on."""


class HeldState:
    """What objects hold now, so that changes can be found and taken back.

    It covers plain attributes, also those of a user's objects, lists, dictionaries, sets, NumPy arrays and
    the variables that functions close over.
    """

    def __init__(self, with_globals: bool = False, with_parameters: bool = False) -> None:
        self._with_globals = with_globals
        self._with_parameters = with_parameters
        self._containers: list[tuple[str, Any, dict[Any, SavedValue]]] = []
        self._visited: set[tuple[str, int]] = set()

    def saved_now(self) -> HeldState:
        """Save what the same objects hold at present."""
        raise NotImplementedError

    def changes(self) -> list[str]:
        """The names of all values that have changed since."""
        found = []
        for path, container, contents in self._containers:
            now = dict(items_of(container))
            keys = [key for key in {**contents, **now} if key not in now or key not in contents]
            keys += [key for key in now if key in contents and not contents[key].is_still(now[key])]
            found += [joined_name(path, container, key) for key in keys]
        return found

    def changes_for_good(self) -> list[str]:
        """The names of all values that have changed and cannot be put back."""
        return [name for name, saved in self.values().items() if saved.cannot_be_put_back()]

    def restore(self) -> None:
        """Put every value back that can be put back."""
        for _, container, contents in self._containers:
            if isinstance(container, Parameters):
                continue
            for saved in contents.values():
                saved.put_back()
            if any(not contents[key].is_still(v) for key, v in items_of(container) if key in contents) or (
                [*contents] != [key for key, _ in items_of(container)]
            ):
                put_back(container, {key: saved.value for key, saved in contents.items()})

    def values(self) -> dict[str, SavedValue]:
        """All saved values that are not containers, by name."""
        inside = {number for _, number in self._visited}
        return {
            joined_name(path, container, key): saved
            for path, container, contents in self._containers
            for key, saved in contents.items()
            if id(saved.value) not in inside
        }

    def holds_what_has_left_vmap(self) -> bool:
        """Whether a value is a tensor that nobody can read outside of the pass that made it."""
        return any(has_left_vmap(saved.value) for saved in self.values().values())

    def generators(self) -> list[Generator]:
        """The generators of random numbers among the values."""
        return [saved.value for saved in self.values().values() if is_generator(saved.value)]

    def _add(self, path: str, container: Any, depth: int = 0) -> None:
        if isinstance(container, Parameters) and not self._with_parameters:
            return
        contents = {key: SavedValue.of(value) for key, value in items_of(container)}
        self._containers.append((path, container, contents))
        for key, saved in contents.items():
            self._add_inside(joined_name(path, container, key), saved.value, depth + 1)

    def _add_inside(self, path: str, value: Any, depth: int) -> None:
        for suffix, inner in containers_in(value, self._with_globals):
            if self._is_new(inner) and depth <= _DEEPEST:
                self._add(path + suffix, inner, depth)

    def _is_new(self, container: Any) -> bool:
        """Whether a container was not visited before. From now on it counts as visited."""
        known = identity(container) in self._visited
        self._visited.add(identity(container))
        return not known


class ModuleState(HeldState):
    """What the modules of a model hold.

    In evaluation mode, or with ``with_buffers``, it covers the values of buffers. In training mode it only
    covers which buffers there are. With ``with_parameters`` it covers frozen parameters, too.
    """

    def __init__(
        self, model: nn.Module, with_buffers: bool | None = None, with_parameters: bool = False
    ) -> None:
        super().__init__(with_parameters=with_parameters)
        self._model = model
        self._with_buffers = not model.training if with_buffers is None else with_buffers
        for module in model.modules():
            self._visited |= {
                identity(container) for container in containers_of_module(module, self._with_buffers)
            }
        for name, module in model.named_modules():
            for container in containers_of_module(module, self._with_buffers):
                self._add(f"{name}." if name else "", container)

    def saved_now(self) -> ModuleState:
        """Save what the same model holds at present."""
        return ModuleState(self._model, self._with_buffers, self._with_parameters)


def containers_of_module(module: nn.Module, with_buffers: bool) -> tuple[Any, ...]:
    """What stands for the parts of one module."""
    return Attributes(module), Buffers(module, with_buffers), Parameters(module, all_of_them=False)


class HeldStates:
    """Several states as one."""

    def __init__(self, states: Sequence[HeldState]) -> None:
        self.states = list(states)

    def saved_now(self) -> HeldStates:
        """Save what the same objects hold at present."""
        return HeldStates([state.saved_now() for state in self.states])

    def restore(self) -> None:
        """Put every value back that can be put back."""
        for state in self.states:
            state.restore()

    def generators(self) -> list[Generator]:
        """The generators of random numbers among the values, each once."""
        found = [generator for state in self.states for generator in state.generators()]
        return list({id(generator): generator for generator in found}.values())


def first_difference_of_states(one: HeldState, other: HeldState) -> str | None:
    """The name of the first value that is not the same in both; None if all are."""
    ours, theirs = one.values(), other.values()
    for name in {**ours, **theirs}:
        if name not in ours or name not in theirs or not ours[name].equals(theirs[name]):
            return name
    return None
